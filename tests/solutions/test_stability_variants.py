"""Every variant of lab 4, and its reference, is an honest solution: it agrees with closed formulas, and leaves models as they were.

No part of the grader is used. The truth is batch norm's own formula and backward pass, written down here, and small cases that
can be worked out by hand.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_truth import define, drawn

from autograder.checks.check import Variant
from solutions.lab04_stability.checks import LAB
from solutions.lab04_stability.plain import PLAIN
from solutions.lab04_stability.variants import VARIANTS

NAMES = LAB.contract
LOW = {"float32-inside": 2e-5}
Functions = Mapping[str, Callable[..., Any]]


def of_variant(variant: Variant) -> Functions:
    """The functions that a variant defines, each from its own source."""
    return {name: define(variant.sources[name], name) for name in NAMES}


SUBJECTS = [
    pytest.param(LAB.reference, 1e-9, id="reference"),
    *(pytest.param(of_variant(v), LOW.get(v.id, 1e-9), id=v.id) for v in VARIANTS),
]
pytestmark = pytest.mark.parametrize(("functions", "rtol"), SUBJECTS)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def near(given: Any, truth: Any, rtol: float) -> bool:
    """Tell whether two numbers or tensors of one shape and dtype agree."""
    a, b = (torch.as_tensor(number, dtype=torch.float64) for number in (given, truth))
    return a.shape == b.shape and torch.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)


def batch_norm(c: int, training: bool = True) -> nn.BatchNorm1d:
    """A layer in float64 whose numbers are far from their starting values."""
    layer = nn.BatchNorm1d(c).double().train(training)
    for number, tensor in enumerate((layer.weight, layer.bias, layer.running_mean, layer.running_var)):
        tensor.data.copy_(drawn(f"layer {number}", (c,)).abs() + 0.5)
    return layer


def normalized(layer: nn.BatchNorm1d, x: Tensor) -> tuple[Tensor, Tensor]:
    """x_hat and the standard deviation, by the formula; x (m, C)."""
    s = (x.var(0, correction=0) + layer.eps).sqrt()
    return (x - x.mean(0)) / s, s


def batches(x0: Tensor, companions: Tensor) -> list[Tensor]:
    """The batches that hold x0 in their first row."""
    return [torch.cat([x0[None], others]) for others in companions]


def row_gradient(layer: nn.BatchNorm1d, x: Tensor, i: int, j: int, grad_out: Tensor) -> Tensor:
    """d sum(grad_out * y[i]) / d x[j] by batch norm's backward formula, where only row i has an upstream gradient."""
    x_hat, s = normalized(layer, x)
    g = grad_out * layer.weight.detach()
    return g / s * ((i == j) - 1 / len(x) - x_hat[i] * x_hat[j] / len(x))


@pytest.mark.parametrize("training", [True, False])
def test_outputs_are_those_of_the_formula(functions: Functions, rtol: float, training: bool) -> None:
    """weight * x_hat + bias of the first row, whatever mode the layer comes in."""
    layer, x0, companions = batch_norm(3, training), drawn("x0", (3,)), drawn("companions", (4, 5, 3))
    truth = torch.stack([normalized(layer, b)[0][0] * layer.weight + layer.bias for b in batches(x0, companions)])
    assert near(functions["outputs_with_companions"](layer, x0, companions).detach(), truth.detach(), rtol)


def test_a_batch_of_one_is_for_the_layer_to_answer(functions: Functions, rtol: float) -> None:
    """Layer norm answers; batch norm raises ValueError."""
    alone = torch.zeros(2, 0, 3, dtype=torch.float64)
    given = functions["outputs_with_companions"](nn.LayerNorm(3).double(), drawn("x0", (3,)), alone)
    truth = nn.LayerNorm(3).double()(drawn("x0", (3,)))
    assert near(given.detach(), torch.stack([truth, truth]).detach(), rtol)
    with pytest.raises(ValueError, match="Expected more than 1 value"):
        functions["outputs_with_companions"](batch_norm(3), drawn("x0", (3,)), alone)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_are_those_of_the_formula(functions: Functions, rtol: float, training: bool) -> None:
    """The diagonal entry of batch norm's Jacobian, times grad_out."""
    layer, x0, companions = batch_norm(3, training), drawn("x0", (3,)), drawn("companions", (4, 5, 3))
    grad_out = drawn("grad", (3,))
    truth = torch.stack([row_gradient(layer, b, 0, 0, grad_out) for b in batches(x0, companions)])
    assert near(functions["input_gradients"](layer, x0, companions, grad_out), truth, rtol)


def test_leaks_are_those_of_the_formula(functions: Functions, rtol: float) -> None:
    """The off-diagonal entries of batch norm's Jacobian; nothing for layer norm."""
    layer, x, grad_out = batch_norm(3, False), drawn("x", (5, 3)), drawn("grad", (3,))
    for i, j in ((0, 3), (4, 1), (2, 2)):
        truth = row_gradient(layer, x, i, j, grad_out).norm().item()
        assert near(functions["leak"](layer, x, i, j, grad_out), truth, rtol)
    assert near(functions["leak"](nn.LayerNorm(3).double(), x, 0, 1, grad_out), 0.0, rtol)


def test_a_leak_has_a_direction(functions: Functions, rtol: float) -> None:
    """With a tanh behind the norm, i onto j and j onto i differ: by the slopes of the two outputs."""
    layer, x, grad_out = batch_norm(2), drawn("x", (4, 2)) / 4, drawn("grad", (2,))
    y = normalized(layer, x)[0] * layer.weight.detach() + layer.bias.detach()
    for i, j in ((0, 1), (1, 0)):
        slope = 1 - torch.tanh(y[i]) ** 2
        truth = row_gradient(layer, x, i, j, grad_out * slope).norm().item()
        assert near(functions["leak"](nn.Sequential(layer, nn.Tanh()), x, i, j, grad_out), truth, rtol)


def test_small_cases_by_hand(functions: Functions, rtol: float) -> None:
    """What pencil and paper give."""
    assert near(functions["printed_stability"](2), math.sqrt(2), max(rtol, 1e-6))
    assert near(functions["printed_stability"](101), math.sqrt(1.01), max(rtol, 1e-6))
    with pytest.raises(ValueError, match=r"\S"):
        functions["printed_stability"](1)
    columns = torch.tensor([[1.0, 0.0], [3.0, 0.0], [1.0, 4.0], [3.0, 4.0]], dtype=torch.float64)
    assert near(functions["spread"](columns), math.sqrt((1 + 4) / 2), rtol)
    assert near(functions["spread"](columns[:1]), 0.0, rtol)
    mean, std = functions["seed_summary"](torch.tensor([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]], dtype=torch.float64))
    assert near(mean, torch.tensor([3.0, 4.0]), rtol)
    assert near(std, torch.tensor([2.0, math.sqrt(12)], dtype=torch.float64), rtol)
    assert functions["seed_summary"](torch.ones(1, 2))[1].isnan().all()


def test_the_table_is_made_of_spreads(functions: Functions, rtol: float) -> None:
    """Row by row in the dictionary's order; nan only where batch norm meets a batch of one; bugs pass through."""
    layers = {"z": batch_norm(3), "a": nn.LayerNorm(3).double()}
    x0, grad_out = drawn("x0", (3,)), drawn("grad", (3,))
    companions = tuple(drawn(f"companions {m}", (4, m - 1, 3)) for m in (1, 3, 6))
    for grad in (None, grad_out):
        table = functions["stability_table"](layers, x0, companions, grad)
        assert table.dtype == torch.float64
        assert table.shape == (2, 3)
        assert table.isnan().tolist() == [[True, False, False], [False] * 3]
        assert near(table[1], torch.zeros(3), max(rtol, 1e-7))
        for column in (1, 2):
            found = [
                row_gradient(layers["z"], b, 0, 0, grad_out) if grad is not None
                else normalized(layers["z"], b)[0][0] * layers["z"].weight.detach()
                for b in batches(x0, companions[column])
            ]  # fmt: skip
            truth = torch.stack(found).var(0, correction=0).mean().sqrt()
            assert near(table[0, column], truth, rtol)
    with pytest.raises(RuntimeError):
        functions["stability_table"]({"wide": nn.Linear(5, 2).double()}, x0, companions)


def test_training_is_gradient_descent(functions: Functions, rtol: float) -> None:
    """For one linear layer the gradient is known: (softmax - one-hot)^T x / m."""
    x, classes = drawn("x", (6, 3)), torch.tensor([0, 1, 2, 1, 0, 2])
    model = nn.Linear(3, 3).double().eval()
    weight, bias = model.weight.detach().clone(), model.bias.detach().clone()
    rows = (torch.tensor([0, 4, 2]), torch.tensor([5]), torch.tensor([3, 1]))
    losses = functions["train_on_batches"](model, x, classes, rows, 0.1)
    truth = []
    for batch in rows:
        p = torch.softmax(x[batch] @ weight.T + bias, 1)
        truth.append(-p[range(len(batch)), classes[batch]].log().mean().item())
        error = (p - nn.functional.one_hot(classes[batch], 3)) / len(batch)
        weight, bias = weight - 0.1 * error.T @ x[batch], bias - 0.1 * error.sum(0)
    assert near(torch.tensor([float(loss) for loss in losses]), torch.tensor(truth), max(rtol, 1e-6))
    assert near(model.weight.detach(), weight, max(rtol, 1e-7))
    assert near(model.bias.detach(), bias, max(rtol, 1e-7))
    assert not model.training


def test_training_moves_running_statistics_and_gives_modes_back(functions: Functions, rtol: float) -> None:
    """By batch norm's rule for the mean; a frozen part that came in evaluation mode is in it again."""
    layer = batch_norm(3, training=False)
    model = nn.Sequential(layer, nn.Linear(3, 2).double())
    model[1].train()
    x, start = drawn("x", (8, 3)), layer.running_mean.clone()
    functions["train_on_batches"](model, x, torch.zeros(8, dtype=torch.int64), (torch.tensor([1, 5, 7]),), 0.0)
    assert near(layer.running_mean, 0.9 * start + 0.1 * x[[1, 5, 7]].mean(0), max(rtol, 1e-7))
    assert [layer.training, model[1].training] == [False, True]


def test_errors_are_counted(functions: Functions, rtol: float) -> None:
    """With running statistics 0 and 1 evaluation takes the sign of x; batch statistics centre each batch anew."""
    model = nn.Sequential(nn.BatchNorm1d(2, affine=False))
    x = torch.tensor([[5.0, 1.0], [6.0, 2.0], [1.0, 7.0], [2.0, 9.0], [3.0, 4.0]])
    classes = torch.tensor([0, 1, 1, 0, 0])
    # In evaluation mode the larger column wins: 0, 0, 1, 1, 1.
    assert near(functions["error_rate"](model, x, classes), 3 / 5, max(rtol, 1e-6))
    apart = torch.tensor([[0.0, 9.0], [1.0, 3.0], [4.0, 0.0], [2.0, 5.0], [0.0, 0.0]])
    # In training mode each column of a pair becomes -1 and 1: the answers are 1, 0 and 0, 1; the fifth row is left out.
    for right, share in (([1, 0, 0, 1, 0], 0.0), ([1, 0, 1, 1, 0], 0.25), ([0, 1, 1, 0, 1], 1.0)):
        assert near(functions["error_rate"](model, apart, torch.tensor(right), 2), share, rtol)


def test_no_trace_is_left(functions: Functions, rtol: float) -> None:
    """Modes, also mixed ones, numbers, hooks, gradients that were there, and the tensors given."""
    del rtol
    model = nn.Sequential(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), nn.Tanh(), nn.Linear(4, 3)).double()
    model[0][1].eval()
    model[2].requires_grad_(False)
    for number, parameter in enumerate(model[0].parameters()):
        parameter.grad = drawn(f"gradient {number}", tuple(parameter.shape))
    seen: list[int] = []
    model[0].register_forward_hook(lambda *_: seen.append(1))
    x0, x, grad_out = drawn("x0", (3,)), drawn("x", (6, 3)), drawn("grad", (3,))
    companions, classes = drawn("companions", (2, 3, 3)), torch.tensor([0, 1, 2, 0, 1, 2])
    calls: dict[str, tuple[Any, ...]] = {
        "outputs_with_companions": (model, x0, companions),
        "input_gradients": (model, x0, companions, grad_out),
        "leak": (model, x, 0, 2, grad_out),
        "stability_table": ({"model": model}, x0, (companions,), grad_out),
        "error_rate": (model, x, classes, 3),
    }
    for name, arguments in calls.items():
        for mode in (True, False):
            model[2].train(mode)
            before, given = picture(model), copy.deepcopy([a for a in arguments if isinstance(a, Tensor)])
            functions[name](*arguments)
            assert picture(model) == before, name
            assert all(
                torch.equal(a, b) for a, b in zip(given, [a for a in arguments if isinstance(a, Tensor)], strict=True)
            )


def picture(model: nn.Module) -> list[Any]:
    """All that must stay: modes, hooks, numbers, gradients."""
    parts = list(model.modules())
    return [
        [part.training for part in parts],
        [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in parts],
        {name: tensor.tolist() for name, tensor in model.state_dict().items()},
        [(p.requires_grad, None if p.grad is None else p.grad.tolist()) for p in model.parameters()],
    ]


def test_a_variant_is_self_contained(functions: Functions, rtol: float) -> None:
    """Each of its sources runs alone and defines its name."""
    del rtol
    assert all(callable(functions[name]) for name in NAMES)
    assert set(PLAIN) == set(NAMES)


def test_variants_differ(functions: Functions, rtol: float) -> None:
    """At least nine, with different ids and texts; each has a text of its own for some name."""
    del functions, rtol
    assert len(VARIANTS) >= 9
    assert len({v.id for v in VARIANTS}) == len({v.file for v in VARIANTS}) == len(VARIANTS)
    assert all(re.fullmatch(r"[a-z0-9-]+", v.id) and tuple(v.sources) for v in VARIANTS)
