"""Every variant of lab 5, and its reference, is an honest solution: it agrees with formulas that are written out here.

No part of the grader is used. The truth is a small net worked out by hand, with its forward and backward pass in plain tensor
algebra, and cases in which the answer is known beforehand.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_truth import define, drawn

from autograder.checks.check import Variant
from solutions.lab05_normalization_effects.checks import LAB
from solutions.lab05_normalization_effects.plain import PLAIN
from solutions.lab05_normalization_effects.variants import VARIANTS

NAMES = LAB.contract
ROUNDING = {"float32-inside": 1e-4}
Functions = Mapping[str, Callable[..., Any]]
X, PROBE = drawn("x", (9, 3), loc=0.3), drawn("probe", (5, 3), loc=-0.2)
CLASSES = torch.tensor([0, 1, 2, 1, 0, 2, 2, 1, 0])
BATCHES = [torch.tensor([0, 3, 5, 8]), torch.tensor([7, 1, 4]), torch.tensor([2, 6, 0, 5, 1])]


def of_variant(variant: Variant) -> Functions:
    """The functions of a variant, from its one file: some use others."""
    return {name: define(variant.file, name) for name in NAMES}


SUBJECTS = [
    pytest.param({name: LAB.reference[name] for name in NAMES}, 1e-9, id="reference"),
    *(pytest.param(of_variant(v), ROUNDING.get(v.id, 1e-9), id=v.id) for v in VARIANTS),
]
on_all = pytest.mark.parametrize(("functions", "rtol"), SUBJECTS)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def near(given: Any, truth: Any, rtol: float) -> bool:
    """Tell whether two numbers or tensors of one shape agree."""
    a, b = (torch.as_tensor(number, dtype=torch.float64) for number in (given, truth))
    return a.shape == b.shape and torch.allclose(a, b, rtol=rtol, atol=rtol)


def exact(*rows: list[float]) -> Tensor:
    """A matrix in float64."""
    return torch.tensor(rows, dtype=torch.float64)


def net(training: bool = True) -> nn.Sequential:
    """Linear, batch norm, tanh, linear; every number far from its start."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=0.3), nn.Tanh(), nn.Linear(4, 3)).double()
    for number, (name, tensor) in enumerate(model.state_dict().items()):
        if tensor.is_floating_point():
            value = drawn(f"{number}", tuple(tensor.shape), loc=0.0)
            tensor.copy_(value.abs() + 1 if "var" in name else value)
    return model.train(training)


def written_out(state: Mapping[str, Tensor], x: Tensor, classes: Tensor) -> dict[str, Tensor]:
    """The forward and the backward pass of `net` in training mode, by the formulas of the book."""
    h = x @ state["0.weight"].T + state["0.bias"]  # (N, 4)
    mean, var = h.mean(0), h.var(0, correction=0)
    x_hat = (h - mean) / (var + 1e-5).sqrt()
    a = torch.tanh(x_hat * state["1.weight"] + state["1.bias"])
    logits = a @ state["3.weight"].T + state["3.bias"]  # (N, 3)
    p = torch.softmax(logits, 1)
    loss = -p[torch.arange(len(x)), classes].log().mean()
    d_logits = (p - nn.functional.one_hot(classes, 3)) / len(x)
    d_y = (d_logits @ state["3.weight"]) * (1 - a**2)
    g = d_y * state["1.weight"]
    d_h = (g - g.mean(0) - x_hat * (g * x_hat).mean(0)) / (var + 1e-5).sqrt()
    return {
        "loss": loss, "h": h, "logits": logits, "var": h.var(0), "mean": mean,
        "0.weight": d_h.T @ x, "0.bias": d_h.sum(0), "1.weight": (d_y * x_hat).sum(0), "1.bias": d_y.sum(0),
        "3.weight": d_logits.T @ a, "3.bias": d_logits.sum(0),
    }  # fmt: skip


PARAMETERS = ("0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias")


def stepped(state: Mapping[str, Tensor], gradients: Mapping[str, Tensor], lr: float, names: tuple[str, ...]) -> Any:
    """The state after one step of SGD of the named parameters."""
    return {**state, **{name: state[name] - lr * gradients[name] for name in names}}


def untouched(model: nn.Module, before: nn.Module) -> bool:
    """Tell whether a model is what its copy is, bit by bit."""
    a, b = model.state_dict(), before.state_dict()
    modes = [m.training for m in model.modules()] == [m.training for m in before.modules()]
    hooks = all(not m._forward_hooks and not m._forward_pre_hooks for m in model.modules())
    grads = all(p.grad is None and p.requires_grad for p in model.parameters())
    return modes and hooks and grads and all(torch.equal(a[name], b[name]) for name in a)


@on_all
def test_pre_activations_are_what_the_linear_layers_put_out(functions: Functions, rtol: float) -> None:
    """In training mode by the written-out pass; and the model is not touched."""
    model = net()
    before = copy.deepcopy(model)
    truth = written_out(model.state_dict(), PROBE, CLASSES[:5])
    found = functions["preactivation_statistics"](model, PROBE)
    assert len(found) == 2
    for (mean, std), h in zip(found, (truth["h"], truth["logits"]), strict=True):
        assert near(mean, h.mean(0), rtol)
        assert near(std, h.std(0, correction=0), rtol)
    assert untouched(model, before)


@on_all
def test_training_is_plain_sgd_and_its_history_true(functions: Functions, rtol: float) -> None:
    """Weights, running statistics and history after three batches, by the written-out passes."""
    model = net(training=False)
    state, times = model.state_dict(), []
    state = {name: value.clone() for name, value in state.items()}
    for batch in [None, *BATCHES]:
        if batch is not None:
            now = written_out(state, X[batch], CLASSES[batch])
            state = stepped(state, now, 0.2, PARAMETERS)
            for name, value in (("1.running_mean", now["mean"]), ("1.running_var", now["var"])):
                state[name] = 0.7 * state[name] + 0.3 * value
        seen = written_out(state, PROBE, CLASSES[:5])
        times.append([(h.mean(0), h.std(0, correction=0)) for h in (seen["h"], seen["logits"])])
    history = functions["track_training"](model, X, CLASSES, BATCHES, 0.2, PROBE)
    for layer, (means, stds) in enumerate(history):
        assert near(means, torch.stack([row[layer][0] for row in times]), rtol)
        assert near(stds, torch.stack([row[layer][1] for row in times]), rtol)
    assert all(near(value, state[name], rtol) for name, value in model.state_dict().items() if "num" not in name)
    assert model[1].num_batches_tracked == 3
    assert not any(m.training for m in model.modules())


@on_all
def test_drift_by_hand(functions: Functions, rtol: float) -> None:
    """Two units, three times: numbers that one can add up in the head; and no drift from one time."""
    mean = exact([0.0, 4.0], [2.0, 1.0], [2.0, 3.0])
    std = exact([2.0, 1.0], [1.0, 2.0], [4.0, 2.0])
    moved, widened = functions["drift"]([(mean, std)])
    assert near(moved, exact([2.0], [0.5]), rtol)
    assert near(widened, exact([math.log(2)], [math.log(4) / 2]), rtol)
    moved, widened = functions["drift"]([(mean, std), (mean + 1, 3 * std)], 2)
    assert near(moved, exact([1.0, 1 / 3]), rtol)
    assert near(widened, exact([math.log(2), math.log(2)]), rtol)
    for lag in (0, -1, 3):
        with pytest.raises(ValueError, match=r"."):
            functions["drift"]([(mean, std)], lag)


@on_all
def test_the_gap_between_the_modes(functions: Functions, rtol: float) -> None:
    """Both losses by formula, the flips counted one by one; none without batch norm."""
    model = net()
    before, state = copy.deepcopy(model), model.state_dict()
    told = functions["train_eval_gap"](model, X, CLASSES)
    truth = written_out(state, X, CLASSES)
    x_hat = (truth["h"] - state["1.running_mean"]) / (state["1.running_var"] + 1e-5).sqrt()
    logits = torch.tanh(x_hat * state["1.weight"] + state["1.bias"]) @ state["3.weight"].T + state["3.bias"]
    assert near(told["batch"], truth["loss"], rtol)
    assert near(told["running"], -torch.log_softmax(logits, 1)[torch.arange(9), CLASSES].mean(), rtol)
    flips = sum(int(a.argmax()) != int(b.argmax()) for a, b in zip(logits, truth["logits"], strict=True))
    assert near(told["changed"], flips / 9, 1e-7)
    assert untouched(model, before)
    told = functions["train_eval_gap"](nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)).double(), X, CLASSES)
    assert float(told["batch"]) == pytest.approx(float(told["running"]), rel=1e-12)
    assert float(told["changed"]) == 0


@on_all
def test_re_estimation_is_a_plain_average(functions: Functions, rtol: float) -> None:
    """Of batch means and unbiased variances, each batch with the same weight; momentum and mode come back."""
    for training in (True, False):
        model = net(training)
        state = {name: value.clone() for name, value in model.state_dict().items()}
        outputs = [X[batch] @ state["0.weight"].T + state["0.bias"] for batch in BATCHES]
        functions["reestimate"](model, [X[batch] for batch in BATCHES])
        assert near(model[1].running_mean, torch.stack([h.mean(0) for h in outputs]).mean(0), rtol)
        assert near(model[1].running_var, torch.stack([h.var(0) for h in outputs]).mean(0), rtol)
        assert model[1].num_batches_tracked == len(BATCHES)
        assert model[1].momentum == 0.3
        assert all(module.training is training for module in model.modules())
        assert all(torch.equal(value, state[name]) for name, value in model.named_parameters())
        with pytest.raises(ValueError, match=r"."):
            functions["reestimate"](model, [])


@on_all
def test_the_gradient_before_and_after_the_layers_below_moved(functions: Functions, rtol: float) -> None:
    """For both layers by the written-out backward pass; the first has nothing below."""
    model = net(training=False)
    before, state = copy.deepcopy(model), model.state_dict()
    now = written_out(state, X, CLASSES)
    then = written_out(stepped(state, now, 0.4, PARAMETERS[:4]), X, CLASSES)
    g, h = now["3.weight"], then["3.weight"]
    told = functions["gradient_change"](model, X, CLASSES, 1, 0.4)
    assert near(told["norm"], g.square().sum().sqrt(), rtol)
    assert near(told["change"], (g - h).square().sum().sqrt(), rtol)
    assert near(told["cosine"], (g * h).sum() / (g.norm() * h.norm()), rtol)
    first = functions["gradient_change"](model, X, CLASSES, 0, 0.4)
    assert near(first["norm"], now["0.weight"].norm(), rtol)
    assert near(first["change"], 0.0, 1e-12)
    assert near(first["cosine"], 1.0, max(rtol, 1e-9))
    assert untouched(model, before)


@on_all
def test_a_comparison_repeats_with_seeds_and_refuses_what_does_not_match(functions: Functions, rtol: float) -> None:
    """Mean and unbiased deviation over seeds of the reference's drift; ValueError without seeds or matched points."""

    def maker(*layers: Callable[[], nn.Module]) -> Callable[[int], nn.Module]:
        def make(seed: int) -> nn.Module:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                return nn.Sequential(*(layer() for layer in layers)).double()

        return make

    first, last = (lambda: nn.Linear(3, 4)), (lambda: nn.Linear(4, 3))
    kinds = {"plain": maker(first, nn.Tanh, last), "layer": maker(first, lambda: nn.LayerNorm(4), nn.Tanh, last)}
    table = functions["compare"](kinds, (5, 2, 9), X, CLASSES, BATCHES, 0.2, PROBE)
    track, drift = LAB.reference["track_training"], LAB.reference["drift"]
    for name, make in kinds.items():
        histories = [track(make(seed), X, CLASSES, BATCHES, 0.2, PROBE) for seed in (5, 2, 9)]  # type: ignore[operator]
        runs = torch.stack([drift(history)[0].mean(0) for history in histories])  # type: ignore[operator]
        centre = (runs[0] + runs[1] + runs[2]) / 3
        assert near(table[name][0], centre, rtol)
        assert near(table[name][1], ((runs - centre).square().sum(0) / 2).sqrt(), rtol)
    with pytest.raises(ValueError, match=r"."):
        functions["compare"](kinds, (5,), X, CLASSES, BATCHES, 0.2, PROBE)
    kinds["wider"] = maker(lambda: nn.Linear(3, 5), nn.Tanh, lambda: nn.Linear(5, 3))
    with pytest.raises(ValueError, match=r"."):
        functions["compare"](kinds, (5, 2), X, CLASSES, BATCHES, 0.2, PROBE)


@pytest.mark.parametrize("variant", VARIANTS, ids=[v.id for v in VARIANTS])
def test_a_variant_defines_each_name_in_a_source_of_its_own(variant: Variant) -> None:
    """All names of the contract, callable, with the parameters that the task names."""
    assert tuple(variant.sources) == NAMES
    for name, source in variant.sources.items():
        assert callable(define(source, name))


def test_there_are_variants_enough() -> None:
    """At least nine, really different: each writes some function in a way that no other one does."""
    assert len(VARIANTS) >= 9
    for variant in VARIANTS:
        own = {name: source for name, source in variant.sources.items() if source != PLAIN[name]}
        assert own
        others = [other for other in VARIANTS if other is not variant]
        assert all(other.sources[name] != source for other in others for name, source in own.items())


def test_the_sources_leave_nothing_to_chance() -> None:
    """No variant and no mistake draws a random number: the same call shows the same trace."""
    texts = [*(variant.file for variant in VARIANTS), *(mistake.source for mistake in LAB.mistakes)]
    assert not [text for text in texts if re.search(r"\brand|empty_like|manual_seed|\btime\.", text)]
