"""Every variant of lab 6 is an honest solution: it does what torch's own layers give together with the formulas of the text.

The truth here is no part of the grader: batch norm and weight norm are torch's, r and d are computed apart in numpy.
"""

from __future__ import annotations

import copy
import itertools
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch_truth import define, drawn

from autograder.checks.check import Variant
from solutions.lab06_beyond.variants import VARIANTS

NAMES = ("BatchRenorm1d", "WeightNormLinear")
BY_ID = [pytest.param(variant, id=variant.id) for variant in VARIANTS]
SHAPES = ((5, 3), (2, 3), (2, 3, 4), (1, 3, 2), (4, 3, 1))
LIMITS = ({}, {"r_max": 1.0, "d_max": 0.0}, {"r_max": 90.0, "d_max": 90.0}, {"r_max": 1.2, "d_max": 0.3})


def close(given: Tensor, expected: Tensor, variant: Variant) -> bool:
    """To float64's rounding, or to float32's where a variant or an input is in that."""
    single = given.dtype == torch.float32 or variant.id == "float32-inside"
    bound = (3e-5 if single else 1e-9) * (1 + expected.abs().max().item())
    return given.shape == expected.shape and bool(((given.double() - expected).abs() <= bound).all())


class Truth:
    """Batch renormalization in float64: torch's batch norm for the normalized batch, numpy for what is remembered."""

    def __init__(self, c: int, eps: float, momentum: float, r_max: float = 3.0, d_max: float = 5.0) -> None:
        self.eps, self.momentum, self.r_max, self.d_max = eps, momentum, r_max, d_max
        self.mean, self.std = np.zeros(c), np.ones(c)

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor, training: bool) -> Tensor:
        wide = [1, -1, 1][: x.dim()]
        if not training:
            hat = (x - torch.tensor(self.mean).view(wide)) / torch.tensor(self.std).view(wide)
            return hat * weight.view(wide) + bias.view(wide)
        numbers = x.detach().numpy()
        rows = numbers if x.dim() == 2 else numbers.transpose(0, 2, 1).reshape(-1, x.shape[1])
        mean, std = rows.mean(0), np.sqrt(rows.var(0) + self.eps)
        r = np.minimum(np.maximum(std / self.std, 1 / self.r_max), self.r_max)
        d = np.minimum(np.maximum((mean - self.mean) / self.std, -self.d_max), self.d_max)
        self.mean = (1 - self.momentum) * self.mean + self.momentum * mean
        self.std = (1 - self.momentum) * self.std + self.momentum * std
        hat = nn.functional.batch_norm(x, None, None, training=True, eps=self.eps)
        return (hat * torch.tensor(r).view(wide) + torch.tensor(d).view(wide)) * weight.view(wide) + bias.view(wide)


@pytest.mark.parametrize("variant", BY_ID)
def test_batch_renorm_agrees_with_the_truth(variant: Variant) -> None:
    """Output, gradients and buffers of three calls, for shapes, limits, dtypes, a large eps and either mode."""
    cls = define(variant.sources["BatchRenorm1d"], "BatchRenorm1d")
    dtypes = (torch.float64, torch.float32)
    for shape, limits, dtype in itertools.product(SHAPES, LIMITS, dtypes):
        layer = cls(3, eps=0.3, momentum=0.4, **limits).to(dtype)
        truth = Truth(3, 0.3, 0.4, **limits)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor([1.5, -0.5, 2.0]))
            layer.bias.copy_(torch.tensor([0.5, 1.0, -1.0]))
        for number, training in enumerate((True, True, False)):
            layer.train(training).zero_grad()
            x = drawn(f"{shape}{number}", shape, loc=0.7).to(dtype).requires_grad_()
            upstream = drawn(f"up{shape}{number}", shape)
            y = layer(x)
            y.backward(upstream.to(dtype))
            leaves = [t.detach().double().requires_grad_() for t in (x, layer.weight, layer.bias)]
            expected = truth(*leaves, training)  # type: ignore[arg-type]
            expected.backward(upstream)
            where = (shape, limits, dtype, number)
            assert y.dtype == dtype
            assert close(y.detach(), expected.detach(), variant), where
            for got, leaf in zip((x, layer.weight, layer.bias), leaves, strict=True):
                assert got.grad is not None
                assert leaf.grad is not None
                assert close(got.grad, leaf.grad, variant), where
            assert close(layer.running_mean, torch.tensor(truth.mean), variant), where
            assert close(layer.running_std, torch.tensor(truth.std), variant), where
            assert not layer.running_mean.requires_grad


@pytest.mark.parametrize("variant", BY_ID)
def test_batch_renorm_refuses_and_keeps_what_the_text_says(variant: Variant) -> None:
    """ValueError for the three cases, a strict state dictionary with four keys, the defaults, a copy after a step."""
    cls = define(variant.sources["BatchRenorm1d"], "BatchRenorm1d")
    layer = cls(3)
    for shape in ((3,), (2, 3, 2, 2), (2, 1), (2, 4), (2, 4, 3), (1, 3), (1, 3, 1)):
        with pytest.raises(ValueError):  # noqa: PT011  # its words are the student's own
            layer(torch.ones(shape))
    assert sorted(layer.state_dict()) == ["bias", "running_mean", "running_std", "weight"]
    assert sorted(dict(layer.named_parameters())) == ["bias", "weight"]
    assert (layer.eps if hasattr(layer, "eps") else 1e-5, layer.r_max, layer.d_max) == (1e-5, 3.0, 5.0)
    layer(drawn("a step", (4, 3)).float()).sum().backward()
    twin = copy.deepcopy(layer).eval()
    fresh = cls(3)
    fresh.load_state_dict(layer.state_dict())
    x = drawn("after", (1, 3)).float()
    assert torch.equal(twin(x), fresh.eval()(x))


@pytest.mark.parametrize("variant", BY_ID)
def test_weight_norm_agrees_with_torch(variant: Variant) -> None:
    """Output and gradients equal those of torch's parametrized linear layer, for shapes, dtypes, with and without bias."""
    cls = define(variant.sources["WeightNormLinear"], "WeightNormLinear")
    shapes = ((4, 3), (3,), (2, 5, 3), (1, 1, 2, 3))
    for shape, outputs, bias, dtype in itertools.product(shapes, (2, 5), (True, False), (torch.float64, torch.float32)):
        layer = cls(3, outputs, bias=bias).to(dtype)
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                parameter.copy_(drawn(name, tuple(parameter.shape), loc=-0.4))
        theirs: Any = weight_norm(nn.Linear(3, outputs, bias=bias)).double()
        renamed = {"weight_g": "parametrizations.weight.original0", "weight_v": "parametrizations.weight.original1"}
        theirs.load_state_dict({renamed.get(k, k): v.double() for k, v in layer.state_dict().items()}, strict=True)
        x = drawn("x", shape).to(dtype).requires_grad_()
        exact = x.detach().double().requires_grad_()
        upstream = drawn("up", (*shape[:-1], outputs))
        before = layer.weight_v.detach().clone()
        y, expected = layer(x), theirs(exact)
        y.backward(upstream.to(dtype))
        expected.backward(upstream)
        assert y.dtype == dtype
        assert close(y.detach(), expected.detach(), variant)
        assert close(x.grad, exact.grad, variant)  # type: ignore[arg-type]
        given, wanted = dict(layer.named_parameters()), dict(theirs.named_parameters())
        for name, parameter in given.items():
            assert close(parameter.grad, wanted[renamed.get(name, name)].grad, variant), name  # type: ignore[arg-type]
        assert torch.equal(layer.weight_v, before)


@pytest.mark.parametrize("variant", BY_ID)
def test_weight_norm_starts_as_a_linear_layer(variant: Variant) -> None:
    """g holds the lengths of v's rows, the rows differ, and the parameters are the ones of the text."""
    layer = define(variant.sources["WeightNormLinear"], "WeightNormLinear")(4, 3)
    assert torch.allclose(layer.weight_g, layer.weight_v.norm(dim=1, keepdim=True))
    assert len(torch.unique(layer.weight_v, dim=0)) == 3
    shapes = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
    assert shapes == {"weight_g": (3, 1), "weight_v": (3, 4), "bias": (3,)}
    assert sorted(layer.state_dict()) == sorted(shapes)


@pytest.mark.parametrize("variant", BY_ID)
def test_a_variant_does_its_own_work(variant: Variant) -> None:
    """Each source runs alone and mentions none of torch's normalization layers."""
    assert tuple(variant.sources) == NAMES
    assert not re.search(r"nn\.BatchNorm|\.batch_norm\(|weight_norm\(|layer_norm|aten|autograd\.grad", variant.file)


def test_there_are_variants_enough() -> None:
    """At least nine, with different ids and really different texts."""
    assert len(VARIANTS) >= 9
    assert len({variant.id for variant in VARIANTS}) == len(VARIANTS)
    assert len({variant.file for variant in VARIANTS}) == len(VARIANTS)
