"""What torch's dispatcher tells of normalization, and what its modes tell, is the same; and the dispatcher tells more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograder.probe import operators, oplog
from autograder.probe.modes import HeardSlowly
from autograder.probe.operators import Heard, can_hear
from autograder.probe.oplog import OperatorLog, listening
from autograder.probe.run import run
from autograder.trace.scenario import Build, Call, Forward, Recipe, Scenario

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
W = torch.rand(3)
IMAGE = X.reshape(1, 3, 2, 2)

CALLS: dict[str, Callable[[], Any]] = {
    "a module": lambda: nn.BatchNorm1d(3)(X),
    "a function": lambda: F.batch_norm(X, W, W, training=True),
    "torch's own": lambda: torch.batch_norm(X, W, W, None, None, True, 0.1, 1e-5, False),
    "an operator of torch": lambda: torch.native_batch_norm(X, W, W, None, None, True, 0.1, 1e-5),
    "an operator by itself": lambda: torch.ops.aten.native_batch_norm(X, W, W, None, None, True, 0.1, 1e-5),
    "an overload by itself": lambda: torch.ops.aten.native_layer_norm.default(X, [3], None, None, 1e-5),
    "into tensors that are there": lambda: torch.native_batch_norm(
        X, W, W, None, None, True, 0.1, 1e-5, out=(torch.empty(4, 3), torch.empty(3), torch.empty(3))
    ),
    "evaluation": lambda: nn.BatchNorm2d(3).eval()(IMAGE),
    "without gradients": lambda: torch.no_grad()(lambda: F.layer_norm(X, (3,)))(),
    "layer": lambda: nn.LayerNorm(3)(X),
    "group": lambda: F.group_norm(IMAGE, 3),
    "instance": lambda: F.instance_norm(IMAGE),
    "rms, which is composed": lambda: nn.RMSNorm(3)(X),
    "weight": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))(X),
    "a backward pass": lambda: F.batch_norm(X.clone().requires_grad_(), None, None, W, W, True).sum().backward(),
    "two of them": lambda: (F.layer_norm(X, (3,)), F.batch_norm(X, W, W, training=True), F.layer_norm(X, (3,))),
    "mapped over rows": lambda: torch.func.vmap(lambda row: F.layer_norm(row, (3,)))(X),
    "a gradient of torch.func": lambda: torch.func.grad(lambda x: F.layer_norm(x, (3,)).square().sum())(X),
    "arithmetic": lambda: (X - X.mean(0)) / X.var(0).sqrt() @ torch.ones(3, 2),
}


def noted(block: Callable[[Callable[[str], None]], Any], call: Callable[[], Any]) -> list[str]:
    """The names that a call leaves, each once, in the order of their first."""
    log = OperatorLog()
    with block(log.note):
        call()
    return log.operators


def test_this_torch_can_be_heard() -> None:
    """Else everything here would be true of modes alone, and a class would wait for them."""
    assert can_hear()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_dispatcher_and_the_modes_tell_the_same(call: Callable[[], Any]) -> None:
    """The same names in the same order, so that it does not matter which of the two there is."""
    fast, slow = noted(Heard, call), noted(HeardSlowly, call)
    assert fast == slow
    assert bool(fast) == (call is not CALLS["arithmetic"])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_script_is_heard() -> None:
    """Its operators run below Python, and so do those that an operator of one's own is made of."""
    scripted = torch.jit.script(compiled)  # type: ignore[no-untyped-call]
    assert "aten.native_layer_norm.default" in noted(Heard, lambda: scripted(X))


def compiled(x: torch.Tensor) -> torch.Tensor:
    """What torch can compile."""
    return torch.layer_norm(x, [3])


@pytest.mark.parametrize("way", ["a thread", "a pool that was there before"])
def test_other_threads_are_heard(way: str) -> None:
    """What a layer hands to somebody else is its own work."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        log = OperatorLog()
        with listening(log):
            if way == "a thread":
                thread = threading.Thread(target=CALLS["layer"])
                thread.start()
                thread.join()
            else:
                pool.submit(CALLS["layer"]).result()
        assert log.operators == ["layer_norm", "aten.native_layer_norm.default"]
        pool.submit(CALLS["layer"]).result()
        assert len(log.operators) == 2


@pytest.mark.parametrize("block", [Heard, HeardSlowly])
def test_nothing_is_heard_after_the_block(block: Callable[[Callable[[str], None]], Any]) -> None:
    """Also where blocks were inside one another, and where one was left by an exception."""
    names: list[str] = []
    inner: list[str] = []
    with block(names.append), block(inner.append):
        F.layer_norm(X, (3,))
    with pytest.raises(ValueError, match="left"), block(names.append):
        raise ValueError("left")
    told = len(names)
    F.layer_norm(X, (3,))
    assert len(names) == told
    assert inner == ["layer_norm", "aten.native_layer_norm.default"]


def test_the_results_are_those_of_torch() -> None:
    """A kernel of ours hands everything on: the arguments by name, the graph, the gradients."""
    plain, heard = (X.clone().requires_grad_() for _ in range(2))
    F.layer_norm(plain, (3,), weight=W, eps=0.5).square().sum().backward()
    with Heard(lambda name: None):
        F.layer_norm(heard, (3,), weight=W, eps=0.5).square().sum().backward()
    assert plain.grad is not None
    assert heard.grad is not None
    assert torch.equal(plain.grad, heard.grad)


class Raises(nn.Module):
    """One value for each channel, which torch's layer refuses before any operator runs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(x, None, None, training=True)


class RaisesInItsOwnWords(Raises):
    """The same, with the error of torch's taken back."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            return super().forward(x)
        except ValueError:
            raise ValueError("one value per channel") from None


@pytest.mark.parametrize("hears", [True, False])
@pytest.mark.parametrize("layer", [Raises, RaisesInItsOwnWords])
def test_a_function_that_refuses_is_seen(layer: type[nn.Module], hears: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is the built-in layer's, however early it comes and whatever is said in its place."""
    monkeypatch.setattr(oplog, "can_hear", lambda: hears)
    one_value = Recipe((1, 3), dtype="float32")
    trace = run([Scenario("s", (Build("M"), Forward(one_value)))], {"M": layer})[0]
    assert trace.failure is not None
    assert trace.operators == ("batch_norm",)


class RefusedAndCaught(Raises):
    """One that has torch's own layer say what it cannot do, and goes on by itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            return super().forward(x)
        except ValueError:
            return x * 0


@pytest.mark.parametrize("hears", [True, False])
def test_a_function_that_has_refused_is_seen_where_nothing_is_raised(
    hears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a function of lab 4's, which tells what refuses what."""
    monkeypatch.setattr(oplog, "can_hear", lambda: hears)
    one_value = Recipe((1, 3), dtype="float32")
    trace = run([Scenario("s", (Build("M"), Forward(one_value)))], {"M": RefusedAndCaught})[0]
    assert trace.failure is None
    assert trace.operators == ("batch_norm",)
    with pytest.raises(ValueError, match="more than 1 value"):  # torch's own again
        F.batch_norm(torch.ones(1, 3), None, None, training=True)
    assert F._verify_batch_size.__module__ == "torch.nn.functional"


@pytest.mark.parametrize("hears", [True, False])
def test_forward_mode_is_seen(hears: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It saves no tensor for a backward pass, so that it has to be heard."""
    monkeypatch.setattr(oplog, "can_hear", lambda: hears)

    def by_jvp(x: torch.Tensor) -> torch.Tensor:
        return torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1]

    assert run([Scenario("s", (Call("f", (Recipe((3,), 1),)),))], {"f": by_jvp})[0].autograd


@pytest.mark.parametrize("hears", [True, False])
def test_what_is_heard_belongs_to_its_own_scenario(hears: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ear stays open between them; a thread that a function leaves behind tells of the scenario in which it began."""
    monkeypatch.setattr(oplog, "can_hear", lambda: hears)
    goes_on = threading.Event()
    threads: list[threading.Thread] = []

    def normalizes() -> None:
        F.layer_norm(torch.ones(2, 3), (3,))

    def late() -> None:
        goes_on.wait(10)
        normalizes()

    def leaves_one_behind() -> None:
        threads.append(threading.Thread(target=late))
        threads[0].start()

    def meets_it() -> None:
        goes_on.set()
        threads[0].join()

    names = {"own": normalizes, "begins": leaves_one_behind, "meets": meets_it}
    traces = run([Scenario(name, (Call(name),)) for name in ("own", "begins", "meets")], names)
    assert [bool(trace.operators) for trace in traces] == [True, False, False]


@pytest.mark.parametrize("turned_off", ["keys", "looks"])
def test_what_one_scenario_turns_off_is_on_again_in_the_next(turned_off: str) -> None:
    """An alarm may ring in the middle of a call, too: what was off for that call must not stay so."""
    assert can_hear()

    def turns_off() -> None:
        if turned_off == "keys":
            for key in operators._keys:
                operators._set_included(key, False)
        else:
            for name, look in zip(operators._LOOKS, usual, strict=True):
                setattr(F, name, look)

    def normalizes() -> None:
        F.layer_norm(torch.ones(2, 3), (3,))

    def is_refused() -> None:
        F.batch_norm(torch.ones(1, 3), None, None, training=True)  # one value per channel: no operator runs

    usual = [getattr(F, name) for name in operators._LOOKS]
    names = {"off": turns_off, "own": normalizes if turned_off == "keys" else is_refused}
    off, own = run([Scenario(name, (Call(name),)) for name in ("off", "own")], names)
    assert not off.operators
    assert own.operators
