"""Models that the grader makes: the same on either side, with nothing at its usual start, and every trace of a function is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from autograder.probe.network import make, maker
from autograder.probe.run import run
from autograder.trace.network import Maker, Network
from autograder.trace.scenario import Call, Recipe, Scenario

NET = Network((("linear", 4, 6), ("batch_norm", 6), ("relu",), ("block", ("linear", 6, 3), ("layer_norm", 3))), seed=5)
X = Recipe((5, 4), seed=1)
EVERY = Network(
    (
        ("conv", 2, 4, 2), ("batch_norm_2d", 4, 0.3), ("tanh",), ("instance_norm_2d", 4), ("group_norm", 2, 4),
        ("flatten",), ("linear", 16, 3, False), ("rms_norm", 3), ("sigmoid",), ("identity",),
    )
)  # fmt: skip


def seen(function: Callable[..., Any], *args: object) -> dict[str, Any]:
    """What one call of a function shows."""
    trace = run([Scenario("one call", (Call("f", args),))], {"f": function})[0]  # type: ignore[arg-type]
    assert trace.failure is None, trace.failure
    return dict(trace.observations[0].seen)


def test_every_word_builds() -> None:
    """All kinds of layers, in one model."""
    assert make(EVERY)(torch.zeros(3, 2, 3, 3, dtype=torch.float64)).shape == (3, 3)


def test_the_numbers_follow_from_the_seed_alone() -> None:
    """And making a model moves no random generator."""
    torch.manual_seed(7)
    first = make(NET).state_dict()
    drawn = torch.rand(3)
    torch.manual_seed(7)
    again, other = make(NET).state_dict(), make(replace(NET, seed=6)).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["0.weight"], other["0.weight"])
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3), drawn)


def test_nothing_stands_at_its_usual_start() -> None:
    """What forgets a weight, a bias or a running statistic must show."""
    state = make(NET).state_dict()
    for name, usual in {"1.weight": 1, "1.bias": 0, "1.running_mean": 0, "1.running_var": 1, "0.bias": 0}.items():
        assert (state[name] - usual).abs().max() > 0.1, name
    assert (state["1.running_var"] > 0).all()


def test_float32_holds_the_same_numbers_as_float64() -> None:
    """So the one is the truth of the other."""
    high, low = make(NET).state_dict(), make(NET.in_dtype("float32")).state_dict()
    assert low["0.weight"].dtype == torch.float32
    assert all(torch.equal(high[name], low[name].to(high[name].dtype)) for name in high)


def test_a_model_shares_nothing_with_the_next_one() -> None:
    """They are copies of one prototype; a function may do to its model what it likes."""
    still = Network((("still", ("batch_norm", 3)), ("linear", 3, 2)), training=True)
    for network in (NET, EVERY, still):
        before, spoiled = make(network), make(network)
        for module in spoiled.modules():
            module.register_forward_hook(lambda *_: None)
            module.momentum, module.training = 0.7, not module.training  # type: ignore[assignment]
            module._buffers["more"] = torch.zeros(1)
        with torch.no_grad():
            for tensor in spoiled.state_dict().values():
                tensor.zero_()
        spoiled.append(nn.Identity())
        after = make(network)
        assert str(after) == str(before)
        assert looks(after) == looks(before) != looks(spoiled)


def looks(model: nn.Module) -> list[object]:
    """All that there is to see of a model but for what torch keeps for itself."""
    modules = [
        (name, type(m), m.training, getattr(m, "momentum", None), len(m._forward_hooks), sorted(vars(m)))
        for name, m in model.named_modules()
    ]
    return [*modules, *((name, t.dtype, t.tolist()) for name, t in model.state_dict().items())]


def test_a_model_is_as_torch_makes_it() -> None:
    """Copying leaves out nothing that a module of that class has of its own."""
    for layer, own in {
        ("linear", 4, 6): nn.Linear(4, 6),
        ("batch_norm", 6): nn.BatchNorm1d(6),
        ("relu",): nn.ReLU(),
    }.items():
        (made,) = make(Network((layer,)))  # type: ignore[arg-type]
        assert type(made) is type(own)
        tensors = {"_parameters", "_buffers"}
        assert {k: v for k, v in vars(made).items() if k not in tensors} == {
            k: v for k, v in vars(own).items() if k not in tensors
        }
        assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in made.parameters())


def test_a_maker_makes_another_model_for_each_seed() -> None:
    """And the same one for the same seed."""
    given = maker(Maker(NET))
    assert torch.equal(given(1)[0].weight, given(1)[0].weight)
    assert not torch.equal(given(1)[0].weight, given(2)[0].weight)


def test_a_function_that_only_looks_leaves_all_as_it_was() -> None:
    """Its four promises are kept."""
    told = seen(lambda model, x: model.eval()(x) if model.training is None else x.sum(), NET, X)
    kept = {f"argument 0 keeps its {what}" for what in ("mode", "hooks", "gradients", "numbers")}
    assert {address for address in told if address.startswith("argument 0")} == kept
    assert all(told[address] for address in kept)


def left_a_hook(model: nn.Module, x: Tensor) -> None:
    model[0].register_forward_hook(lambda *_: None)


def left_a_backward_hook(model: nn.Module, x: Tensor) -> None:
    model[3][0].register_full_backward_hook(lambda *_: None)


def left_evaluation(model: nn.Module, x: Tensor) -> None:
    model.eval()


def left_one_layer_in_evaluation(model: nn.Module, x: Tensor) -> None:
    model[1].eval()


def left_gradients(model: nn.Module, x: Tensor) -> None:
    model.eval()(x).sum().backward()
    model.train()


def left_it_frozen(model: nn.Module, x: Tensor) -> None:
    model.requires_grad_(False)


def left_running_statistics(model: nn.Module, x: Tensor) -> None:
    with torch.no_grad():
        model(x)


def left_other_weights(model: nn.Module, x: Tensor) -> None:
    with torch.no_grad():
        model[3][0].bias += 1e-9


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        (left_a_hook, "hooks"),
        (left_a_backward_hook, "hooks"),
        (left_evaluation, "mode"),
        (left_one_layer_in_evaluation, "mode"),
        (left_gradients, "gradients"),
        (left_it_frozen, "gradients"),
        (left_running_statistics, "numbers"),
        (left_other_weights, "numbers"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_whatever_a_function_leaves_behind_is_seen(
    function: Callable[[nn.Module, Tensor], None], broken: str, inside: bool
) -> None:
    """Also when the model stood in a dictionary; and nothing else is said to be broken."""

    def opened(models: Any, x: Tensor) -> None:
        function(models["net"] if inside else models, x)

    told = seen(opened, {"net": NET} if inside else NET, X)
    assert {address for address, value in told.items() if value is False} == {f"argument 0 keeps its {broken}"}


def test_a_part_may_stand_still_and_gradients_may_be_there_already() -> None:
    """So that `model.train()` afterwards, and a `zero_grad`, are seen: this is how a user's model may come."""
    net = Network((("linear", 4, 3), ("still", ("batch_norm", 3)), ("relu",)), seed=3, gradients=True)
    model = make(net)
    assert [module.training for module in (model, model[0], model[1], model[1][0])] == [True, True, False, False]
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())
    assert seen(lambda model, x: model.eval().train() and None, net, X)["argument 0 keeps its mode"] is False
    assert seen(lambda model, x: model.zero_grad(), net, X)["argument 0 keeps its gradients"] is False


ODD = Network((("frozen", ("linear", 4, 3)), ("batch_norm", 3)), seed=3)


def test_frozen_parameters_and_a_buffer_that_no_state_dict_has_are_watched() -> None:
    """Who sets everything to want a gradient, or leaves something behind where no `state_dict` looks, has changed the model."""
    assert [p.requires_grad for p in make(ODD).parameters()] == [False, False, True, True]

    def mark(model: nn.Module, x: Tensor) -> None:
        model.register_buffer("calls", torch.tensor(0), persistent=False)

    assert seen(mark, ODD, X)["argument 0 keeps its numbers"] is False
    assert seen(lambda model, x: model.requires_grad_(True), ODD, X)["argument 0 keeps its gradients"] is False
    told = seen(lambda model, x: None, ODD, X)
    assert told["argument 0 keeps its numbers"] is told["argument 0 keeps its gradients"] is True


def test_a_layer_knows_its_rows_and_another_has_a_fault_that_is_no_refusal() -> None:
    """The first of equal rows comes out as it was, the second doubled; the fault is a TypeError."""
    same = torch.ones(3, 2, 2, dtype=torch.float64)
    assert make(Network((("by_row",),)))(same)[:, 0, 0].tolist() == [1, 2, 3]
    with pytest.raises(TypeError):
        make(Network((("mistyped",),)))(same)


@pytest.mark.parametrize(
    ("how", "stays"),
    [
        (lambda x: x.requires_grad_(), False),
        (lambda x: x.detach().requires_grad_(), True),
        (lambda x: x.requires_grad_().sum().backward(), False),
        (lambda x: x.requires_grad_().requires_grad_(False), True),
        (lambda x: x.add_(1), False),
    ],
    ids=["marked", "a view marked", "with a gradient", "marked for a while", "written into"],
)
def test_a_tensor_that_was_made_to_want_a_gradient_is_not_unchanged(
    how: Callable[[Tensor], object], stays: bool
) -> None:
    """Whatever the caller does with it afterwards would build a graph."""
    told = seen(lambda x: (how(x), None)[1], X)
    assert told["argument 0 is unchanged"] is stays


def test_a_model_that_is_to_change_shows_its_numbers() -> None:
    """So a training function is judged by what it leaves."""

    def train(model: nn.Module, x: Tensor) -> None:
        with torch.no_grad():
            model[0].bias.zero_()

    told = seen(train, replace(NET, changes=True), X)
    assert (told["argument 0: 0.bias"].array == 0).all()
    assert told["argument 0: 1.num_batches_tracked"].dtype == "int64"
    assert "argument 0 keeps its numbers" not in told


def test_tensors_deep_in_an_argument_are_watched() -> None:
    """A batch inside a tuple is the caller's, too."""

    def spoil(batches: tuple[Tensor, ...]) -> None:
        batches[1][0] += 1

    assert seen(spoil, (X, X))["argument 0 is unchanged"] is False
    assert seen(lambda batches: None, (X, X))["argument 0 is unchanged"] is True


def test_results_are_seen_to_a_depth_and_no_further() -> None:
    """A function may return a table; it cannot flood the trace."""
    told = seen(lambda x: {"a": [x[0, 0], {"b": (1.5,)}], 3: [[[[1]]]]}, X)
    assert told["result['a'][1]['b']"].type == "tuple"
    assert told["result['a'][1] holds"] == "dict"
    assert told["result[3][0][0]"].type == "list"
    assert len(seen(lambda x: [list(range(50)) for _ in range(50)], X)) < 250
