"""The probe does what a scenario says, writes down whatever happens, and leaves the notebook as it was."""

from __future__ import annotations

import contextlib
import copy
import math
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.probe.alarm import Alarm, ScenarioTimeout
from autograder.probe.arguments import real as laid_out
from autograder.probe.run import HURRY_S, Runs, run
from autograder.trace.scenario import (
    Backward,
    Build,
    Call,
    Cast,
    Forward,
    Freeze,
    Load,
    Mode,
    Put,
    Recipe,
    Reload,
    Scenario,
    State,
    Step,
    Value,
    draw,
)
from autograder.trace.trace import Failure, Observation, Opaque, Tensor, Trace

X, OTHER, GRAD = Recipe((3, 2), 1), Recipe((4, 2), 2, scale=2.0), Recipe((3, 2), 3)
WEIGHT, MEAN = Recipe((2,), 4), Recipe((2,), 5)


def real(recipe: Recipe) -> torch.Tensor:
    """The tensor of a recipe, by torch alone."""
    return torch.tensor(draw(recipe).tolist(), dtype=getattr(torch, recipe.dtype)).reshape(recipe.shape)


def one(*steps: Step, timeout_s: float = 5.0, **names: Any) -> Trace:
    """Run one scenario on some names."""
    return run([Scenario("s", steps)], names, timeout_s)[0]


def last(*steps: Step, **names: Any) -> Observation:
    """What the last step showed, when all went well."""
    trace = one(*steps, **names)
    assert trace.failure is None, trace.failure
    assert len(trace.observations) == len(steps)
    return trace.observations[-1]


def failed(*steps: Step, timeout_s: float = 5.0, **names: Any) -> Failure:
    """The failure that ended a scenario."""
    failure = one(*steps, timeout_s=timeout_s, **names).failure
    assert failure is not None
    return failure


def close(seen: Any, expected: torch.Tensor) -> bool:
    """Tell whether a tensor in a trace is the expected one, shape and dtype and all."""
    assert isinstance(seen, Tensor), seen
    same = seen.dtype == str(expected.dtype).removeprefix("torch.") and seen.shape == tuple(expected.shape)
    return same and bool(np.allclose(seen.array, expected.detach().numpy(), rtol=1e-12, atol=1e-12))


# torch's own layer stands where a student's does: nothing in the probe is about hand-written ones.
TORCH = {"M": nn.BatchNorm1d, "L": nn.Linear}
BUILD = Build("M", (2,), {"eps": 0.5, "momentum": 0.3}, "float64")


def truth(**more: Any) -> nn.BatchNorm1d:
    """The same layer, built by hand."""
    return nn.BatchNorm1d(2, eps=0.5, momentum=0.3, **more).double()


# --- steps -----------------------------------------------------------------------------------------------------------------


def test_build_and_forward() -> None:
    """Arguments by position and by keyword, a dtype, an upstream gradient."""
    m, x = truth(), real(X).requires_grad_()
    y = m(x)
    y.backward(real(GRAD))
    seen = last(BUILD, Forward(X, GRAD), **TORCH).seen
    assert close(seen["y"], y)
    assert x.grad is not None
    assert m.weight.grad is not None
    assert close(seen["x.grad"], x.grad)
    assert close(seen["m.weight.grad"], m.weight.grad)
    assert seen["x is unchanged"] is True


def test_forward_without_a_gradient_runs_no_backward() -> None:
    """And one without gradient mode builds no graph."""
    assert set(last(BUILD, Forward(X), **TORCH).seen) == {"x is unchanged", "y"}
    recorded: list[bool] = []

    class Notes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            recorded.append(torch.is_grad_enabled() and x.requires_grad)
            return x

    one(Build("N"), Forward(X, grad_enabled=False), Forward(X, x_requires_grad=False), Forward(X), N=Notes)
    assert recorded == [False, False, True]


def test_gradients_of_one_forward_are_not_added_to_the_next() -> None:
    """Each step shows its own."""
    steps = (BUILD, Mode(False), Forward(X, GRAD))
    assert close(last(*steps, Forward(X, GRAD), **TORCH).seen["m.bias.grad"], real(GRAD).sum(0))


def test_modes() -> None:
    """By method and by attribute; both reach the layer, also through a model around it."""
    m = truth()
    trained = m(real(X))
    evaluated = m.eval()(real(X))
    for by in (False, True):
        assert close(last(BUILD, Forward(X), Mode(False, by), Forward(X), **TORCH).seen["y"], evaluated)
        assert close(last(BUILD, Mode(False, by), Mode(True, by), Forward(X), **TORCH).seen["y"], trained)
    child = Build("M", (2,), {"eps": 0.5, "momentum": 0.3}, "float64", child=True)
    assert close(last(child, Forward(X), Mode(False), Forward(X), **TORCH).seen["y"], evaluated)


def test_cast() -> None:
    """The module moves to the dtype."""
    state = last(Build("M", (2,)), Cast("float64"), State(), **TORCH).seen
    assert isinstance(state["m.weight"], Tensor)
    assert state["m.weight"].dtype == "float64"


def test_load_strictly() -> None:
    """As load_state_dict: a missing or a foreign key is an error."""
    count = Recipe((), dtype="int64", values=(7.0,))
    whole = {"weight": WEIGHT, "bias": MEAN, "running_mean": MEAN, "running_var": WEIGHT, "num_batches_tracked": count}
    seen = last(BUILD, Load(whole), State(), **TORCH).seen
    assert close(seen["m.weight"], real(WEIGHT))
    assert close(seen["m.running_mean"], real(MEAN))
    assert close(seen["m.num_batches_tracked"], torch.tensor(7))
    assert failed(BUILD, Load({"weight": WEIGHT}), **TORCH).type == "RuntimeError"
    assert failed(BUILD, Load(whole | {"gamma": WEIGHT}), **TORCH).type == "RuntimeError"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"weight": Recipe((3,))}, "m.weight must have shape (3,); it has (2,)"),
        ({"eps": Recipe(())}, "m.eps must be a tensor; it is float"),
        ({"gamma": WEIGHT}, "no attribute 'gamma'"),
    ],
)
def test_load_fills_what_is_there(state: dict[str, Recipe], words: str) -> None:
    """Some tensors by name, never broadcast, or a sentence."""
    seen = last(BUILD, Load({"weight": WEIGHT, "running_mean": MEAN}, fill=True), State(), **TORCH).seen
    assert close(seen["m.weight"], real(WEIGHT))
    assert close(seen["m.running_mean"], real(MEAN))
    assert words in failed(BUILD, Load(state, fill=True), **TORCH).message


def test_reload_goes_on_in_a_fresh_instance() -> None:
    """With the state dictionary and the mode, and nothing else; the old instance is gone."""

    class Forgetful(nn.Module):
        def __init__(self, c: int) -> None:
            super().__init__()
            self.calls = 0  # in no state dictionary
            self.register_buffer("running_mean", torch.zeros(c))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            self.running_mean += 1.0
            return self.running_mean + self.calls + 10 * (not self.training) + 0 * x

    start = (Build("F", (2,), dtype="float64"), Mode(False), Forward(X))
    assert close(last(*start, Forward(X), F=Forgetful).seen["y"], torch.full((3, 2), 14.0, dtype=torch.float64))
    assert close(
        last(*start, Reload(), Forward(X), F=Forgetful).seen["y"], torch.full((3, 2), 13.0, dtype=torch.float64)
    )
    copied = last(*start, Reload(copy=True), Forward(X), F=Forgetful).seen["y"]
    assert close(copied, torch.full((3, 2), 14.0, dtype=torch.float64))


class Lends(nn.Module):
    """Returns a tensor of its own, which the next call writes into."""

    def __init__(self, there: float = 0.0) -> None:
        super().__init__()
        self.there = torch.full((3, 2), there, dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.there.copy_(x.detach())


@pytest.mark.parametrize(
    ("layer", "second", "told"),
    [(Lends, X, True), (Lends, replace(X, seed=9), False), (nn.Identity, replace(X, seed=9), True)],
    ids=["the same numbers", "other numbers", "a new tensor each time"],
)
def test_an_earlier_output_is_not_written_into(layer: type[nn.Module], second: Recipe, told: bool) -> None:
    """By a later call, which may be the layer's own business and is not: somebody holds it."""
    made = one(Build("L"), Forward(X), Forward(second), L=layer)
    assert "the earlier y is unchanged" not in made.observations[1].seen
    assert made.observations[2].seen["the earlier y is unchanged"] is told


def test_no_number_is_as_good_as_it_was() -> None:
    """An output of NaN that nobody touches is unchanged."""
    nothing = Recipe((2,), values=(math.nan, 1.0))
    assert last(Build("L"), Forward(nothing), Forward(X), L=nn.Identity).seen["the earlier y is unchanged"] is True


def test_the_gradient_that_arrives_is_not_written_into() -> None:
    """It may go elsewhere, too: a residual connection hands the same one on."""

    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad.mul_(2)

    class Layer(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Doubles.apply(x)

    seen = last(Build("L"), Forward(X, GRAD), L=Layer).seen
    assert close(seen["x.grad"], 2 * real(GRAD))
    assert seen["grad_out is unchanged"] is False
    assert last(BUILD, Forward(X, GRAD), **TORCH).seen["grad_out is unchanged"] is True


@pytest.mark.parametrize("kind", ["a tensor", "a tuple", "a dictionary", "nothing"])
@pytest.mark.parametrize("lends", [True, False])
def test_an_earlier_result_is_not_written_into(kind: str, lends: bool) -> None:
    """Whatever a function returns its tensors in."""
    own = torch.zeros(3, 2, dtype=torch.float64)

    def answer(x: torch.Tensor) -> object:
        y = own.copy_(x) if lends else x.clone()
        return {"a tensor": y, "a tuple": (1, y), "a dictionary": {"y": y}, "nothing": None}[kind]

    trace = one(Call("f", (X,)), Call("f", (replace(X, seed=9),)), f=answer)
    assert trace.observations[1].seen["the earlier result is unchanged"] is (not lends or kind == "nothing")


def test_freeze() -> None:
    """A frozen parameter has no gradient; the others have."""
    seen = last(BUILD, Freeze(("weight",)), Forward(X, GRAD), **TORCH).seen
    assert seen["m.weight.grad"] is None
    assert close(seen["m.bias.grad"], real(GRAD).sum(0))


def test_an_attribute_is_put_between_two_calls() -> None:
    """Who reads it at each call sees the new number; who read it once does not."""

    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.limit = self.first = 1.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.zeros_like(x) + 10 * self.limit + self.first

    steps = (Build("R", dtype="float64"), Forward(X), Put("limit", 2.0), Forward(X))
    assert close(last(*steps, R=Reads).seen["y"], torch.full((3, 2), 21.0, dtype=torch.float64))


def test_a_late_backward_belongs_to_its_forward() -> None:
    """Whatever was called in between."""
    m, x = truth(), real(X).requires_grad_()
    y = m(x)
    m.eval()
    m(real(OTHER))
    y.backward(real(GRAD))
    steps = (BUILD, Forward(X, later=True), Mode(False), Forward(OTHER, grad_enabled=False), Backward(GRAD))
    assert x.grad is not None
    assert close(last(*steps, **TORCH).seen["x.grad"], x.grad)


def test_forward_hooks_are_counted() -> None:
    """A layer that overrides __call__ does not fire them."""

    class Deaf(nn.BatchNorm1d):
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return self.forward(x)

    child = Build("M", (2,), child=True)
    x = Recipe((3, 2), 1, dtype="float32")
    assert last(child, Forward(x), Forward(x), M=nn.BatchNorm1d).seen["forward hooks fired"] == 1
    assert last(child, Forward(x), M=Deaf).seen["forward hooks fired"] == 0
    assert "forward hooks fired" not in last(Build("M", (2,)), Forward(x), M=Deaf).seen


def test_a_changed_input_is_seen() -> None:
    """An operation in place on x, or on an argument of a function, is an observation."""

    class Spoils(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.detach().add_(1)
            return x

    assert last(Build("S"), Forward(X), S=Spoils).seen["x is unchanged"] is False
    seen = last(Call("f", (X, 3, GRAD)), f=lambda a, n, b: b.add_(1)).seen
    assert (seen["argument 0 is unchanged"], seen["argument 2 is unchanged"]) == (True, False)
    assert "argument 1 is unchanged" not in seen


def test_call_hands_over_what_the_scenario_says() -> None:
    """Positions, keywords, plain values."""
    seen = last(Call("f", (X, 0.5), {"flag": True, "w": WEIGHT}), f=lambda x, e, flag, w: (x * w, [e, flag])).seen
    assert close(seen["result[0]"], real(X) * real(WEIGHT))
    assert seen["result holds"] == "tuple of 2"
    assert (seen["result[1][0]"], seen["result[1][1]"]) == (0.5, True)


@pytest.mark.parametrize("value", [3.5, 2, True, None, "text"])
def test_value_looks_at_a_name(value: object) -> None:
    """A prediction."""
    assert last(Value("v"), v=value).seen == {"v": value}


LAYOUTS = st.sampled_from(["contiguous", "transposed", "strided", "channels_last"])


@given(st.lists(st.integers(0, 4), max_size=4).map(tuple), st.integers(0, 99), LAYOUTS)
@settings(max_examples=150, deadline=None)
def test_a_layout_lies_otherwise_in_memory_and_holds_the_same(shape: tuple[int, ...], seed: int, layout: Any) -> None:
    """Any number of axes, also none, also empty ones."""
    if layout == "strided" and not shape:
        return
    assert torch.equal(laid_out(Recipe(shape, seed, layout=layout)), real(Recipe(shape, seed)))


@pytest.mark.parametrize(
    ("layout", "shape"), [("transposed", (3, 2)), ("strided", (3, 2)), ("channels_last", (2, 3, 4, 5))]
)
def test_a_layout_is_not_contiguous(layout: Any, shape: tuple[int, ...]) -> None:
    """A `view` in a student's layer must meet what it cannot do."""
    x = laid_out(Recipe(shape, layout=layout))
    assert not x.is_contiguous()
    assert layout != "channels_last" or x.is_contiguous(memory_format=torch.channels_last)


# --- failures --------------------------------------------------------------------------------------------------------------


class Raises(nn.Module):
    """Raises what it is told to."""

    def __init__(self, error: type[BaseException] | None = None) -> None:
        super().__init__()
        self.error = error

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise Raises.what


@pytest.mark.parametrize(
    "error",
    [ValueError("no"), SystemExit(3), GeneratorExit(), MemoryError(), RecursionError(), StopIteration(), Exception()],
    ids=lambda error: type(error).__name__,
)
def test_what_student_code_raises_is_an_observation(error: BaseException) -> None:
    """Nothing of it ends the probe; the scenario ends, the next one runs."""
    Raises.what = error
    first, second = run(
        [Scenario("a", (Build("R"), Forward(X), State())), Scenario("b", (Value("v"),))], {"R": Raises, "v": 1}
    )
    assert first.failure is not None
    assert first.failure.type == type(error).__name__
    assert len(first.observations) == 2
    assert second.observations[0].seen == {"v": 1}


def test_the_keyboard_ends_the_run() -> None:
    """An interrupt is how the grader stops a cell; swallowing it would make the kernel deaf."""
    Raises.what = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        one(Build("R"), Forward(X), R=Raises)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0  # no alarm is left behind


def test_what_was_seen_before_a_failure_is_kept() -> None:
    """A backward pass that fails leaves the output to look at."""

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            raise ValueError("no backward")

    class M(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Broken.apply(x)

    observation = one(Build("M"), Forward(X, GRAD), M=M).observations[1]
    assert close(observation.seen["y"], real(X))
    assert observation.failure is not None
    assert observation.failure.message == "no backward"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((Build("Gone"),), "Gone is not defined: write it, or run the cell that defines it"),
        ((Call("gone"),), "gone is not defined"),
        ((Value("gone"),), "gone is not defined"),
        ((Build("dict"),), "dict(...) must be an nn.Module; it is a dict"),
        ((Build("M"),), "missing 1 required positional argument"),
        ((Build("M", (2,), {"gamma": 1}),), "unexpected keyword argument"),
        ((Build("L", (2, 2)), Freeze(("gamma",))), "no attribute 'gamma'"),
        ((Build("Kept"), Put("limit", 1.0)), "object has no setter"),
    ],
)
def test_what_is_missing_is_said(steps: tuple[Step, ...], words: str) -> None:
    """In words that a student can act on."""

    class Kept(nn.Module):
        @property
        def limit(self) -> float:
            return 2.0

    assert words in failed(*steps, dict=dict, Kept=Kept, **TORCH).message


def test_an_output_that_is_no_tensor_is_written_down() -> None:
    """No backward pass is tried on it."""

    class M(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return [x]

    assert last(Build("M"), Forward(X, GRAD), M=M).seen["y"] == Opaque("list")


# --- time ------------------------------------------------------------------------------------------------------------------


def busy() -> None:
    while True:
        pass


def asleep() -> None:
    time.sleep(60)


def swallows_three() -> None:
    """More often than there are clocks, but not for ever: the test must end where the alarm does not ring again."""
    ends_s, left = time.monotonic() + 6, 3
    while time.monotonic() < ends_s:
        try:
            while time.monotonic() < ends_s:
                pass
        except BaseException:
            if not left:
                raise
            left -= 1


def swallows_exceptions() -> None:
    while True:
        with contextlib.suppress(Exception):
            busy()


@pytest.mark.parametrize(
    ("function", "timeout_s", "within_s"),
    [(busy, 0.3, 5), (asleep, 0.1, 5), (swallows_exceptions, 0.3, 5), (swallows_three, 0.3, 8)],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_an_endless_call_is_stopped(function: Any, timeout_s: float, within_s: float) -> None:
    """By its CPU time, or by the clock when it sleeps; `except` around it does not help it for long."""
    began_s = time.monotonic()
    failure = failed(Call("f"), timeout_s=timeout_s, f=function)
    assert failure.type == ScenarioTimeout.__name__
    assert failure.message == f"it took more than {timeout_s:g} seconds"
    assert time.monotonic() - began_s < within_s


def test_sleeping_costs_no_cpu_time() -> None:
    """A loaded machine, on which everything takes longer by the clock, costs nobody a point."""
    assert last(Call("f"), f=lambda: time.sleep(0.3)).failure is None
    assert one(Call("f"), timeout_s=0.1, f=lambda: time.sleep(0.3)).failure is None


def test_the_others_get_less_time_after_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a check of twenty endless scenarios ends; the next check begins anew."""
    given: list[float] = []
    before = Alarm.set

    def noted(alarm: Alarm, seconds: float) -> None:
        given.append(seconds)
        before(alarm, seconds)

    monkeypatch.setattr(Alarm, "set", noted)
    slow, quick, names = Scenario("slow", (Call("slow"),)), Scenario("quick", (Value("v"),)), {"slow": busy, "v": 1}
    with Runs(HURRY_S + 0.1) as runs:
        runs.run([slow, quick], names)
        runs.run([quick], names)
    assert given == [HURRY_S + 0.1, HURRY_S, HURRY_S + 0.1]


@pytest.mark.parametrize("steps", [20, 1], ids=["many short steps", "one step"])
def test_each_step_has_its_own_time(steps: int) -> None:
    """The clocks tick on from step to step; what counts begins anew with each."""

    def works(each_s: float) -> None:
        end = time.process_time() + each_s
        while time.process_time() < end:
            pass

    trace = one(*[Call("f", (0.6 / steps,)) for _ in range(steps)], timeout_s=0.3, f=works)
    assert (trace.failure is None) == (steps > 1)


def test_an_alarm_that_was_turned_off_rings_in_the_next_check() -> None:
    """It is set anew for each, whatever student code has done to it."""

    def turns_off() -> None:
        for timer, number in ((signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_REAL, signal.SIGALRM)):
            signal.setitimer(timer, 0)
            signal.signal(number, signal.SIG_IGN)

    with Runs(0.3) as runs:
        assert runs.run([Scenario("off", (Call("off"),))], {"off": turns_off})[0].failure is None
        failure = runs.run([Scenario("s", (Call("busy"),))], {"busy": busy})[0].failure
    assert failure is not None
    assert failure.type == ScenarioTimeout.__name__


def test_alarms_of_the_notebook_are_put_back() -> None:
    """Handlers are the caller's again, and no timer runs on."""
    mine = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        one(Value("v"), v=1)
        assert signal.getsignal(signal.SIGALRM) == signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, mine)


def test_it_runs_in_another_thread_too() -> None:
    """Without alarms, since only the main thread can have them."""
    found: list[Trace] = []
    thread = threading.Thread(target=lambda: found.append(one(Value("v"), v=1)))
    thread.start()
    thread.join()
    assert found[0].observations[0].seen == {"v": 1}


def test_everything_is_loaded_before_an_alarm_can_ring() -> None:
    """In a fresh process the first scenario costs no more than a fifth of its time: no import is cut in half."""
    import subprocess
    import sys

    source = """
import time, torch
from autograder.probe.run import run
from autograder.trace.scenario import *
run((), {})
began = time.process_time()
steps = (Build("M", (2,)), Forward(Recipe((3, 2), dtype="float32"), Recipe((3, 2), dtype="float32")), State(), Reload(copy=True))
trace = run([Scenario("s", steps)], {"M": torch.nn.BatchNorm1d})[0]
assert trace.failure is None, trace
print(time.process_time() - began)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) < 1.0


# --- the notebook ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def odd_notebook() -> Iterator[None]:
    """A notebook that has changed torch's switches and turned warnings into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.autograd.set_detect_anomaly(True)
        yield
        torch.autograd.set_detect_anomaly(False)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("odd_notebook")
def test_the_switches_of_the_notebook_do_not_matter() -> None:
    """A default dtype, a gradient mode or a filter that was left on changes no trace, and is found again afterwards."""

    def f() -> torch.Tensor:
        warnings.warn("careful", stacklevel=1)
        return torch.zeros(1, requires_grad=True) * 1

    x = Recipe((3, 2), 1, dtype="float32")
    grad = Recipe((3, 2), 3, dtype="float32")
    made = last(Call("f"), f=f).seen["result"]
    assert isinstance(made, Tensor)
    assert made.dtype == "float32"
    seen = last(Build("M", (2,)), Forward(x, grad), M=nn.BatchNorm1d).seen
    assert isinstance(seen["x.grad"], Tensor)
    assert torch.get_default_dtype() == torch.float64
    assert not torch.is_grad_enabled()
    assert torch.is_anomaly_enabled()
    assert warnings.filters[0][0] == "error"


def test_a_switch_that_student_code_turns_is_turned_back() -> None:
    """Also when the scenario fails, and for the check after it."""

    def f() -> None:
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        raise ValueError("after that")

    failed(Call("f"), f=f)
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


def test_a_mode_that_was_entered_and_never_left_ends_with_the_scenario() -> None:
    """Inference mode is one that a function may turn on for good."""

    kept = []  # it would end with the last name for it

    def turns_on() -> None:
        kept.append(torch.inference_mode())
        kept[0].__enter__()

    look = Scenario("b", (Call("f"),))
    second = run([Scenario("a", (Call("on"),)), look], {"on": turns_on, "f": torch.is_inference_mode_enabled})[1]
    assert second.observations[0].seen["result"] is False
    assert not torch.is_inference_mode_enabled()


def test_one_scenario_does_not_disturb_the_next() -> None:
    """A switch that a layer turns in one is as it was in the other, and each builds its own instance."""

    class Turns(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch.set_grad_enabled(False)
            torch.set_default_dtype(torch.float64)
            return x

    look = Scenario("b", (Call("f"),))
    f = lambda: (torch.is_grad_enabled(), str(torch.get_default_dtype()))  # noqa: E731
    second = run([Scenario("a", (Build("T"), Forward(X))), look], {"T": Turns, "f": f})[1]
    assert second.observations[0].seen["result[0]"] is True
    assert second.observations[0].seen["result[1]"] == "torch.float32"


def test_the_namespace_is_only_read() -> None:
    """The probe defines nothing in a student's notebook."""
    names = {"M": nn.BatchNorm1d}
    before = copy.copy(names)
    run([Scenario("s", (Build("M", (2,)), Forward(Recipe((3, 2), dtype="float32")), State()))], names)
    assert names == before
