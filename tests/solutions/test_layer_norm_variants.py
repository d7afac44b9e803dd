"""Every variant of lab 2 is an honest solution: it does what torch.nn does wherever the contract speaks.

Nothing of the grader is used: layers are called and compared with torch's own, in float64 and float32.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_truth import define

from autograder.checks.check import Variant
from solutions.lab02_layer_norm.variants import VARIANTS

NAMES = ("LayerNorm", "layer_norm_backward", "RMSNorm")
BY_ID = [pytest.param(variant, id=variant.id) for variant in VARIANTS]
SHAPES: tuple[tuple[Any, tuple[int, ...]], ...] = (
    (5, (3, 5)),
    (5, (5,)),
    (1, (4, 1)),
    ([4], (2, 3, 4)),
    ((3, 4), (2, 3, 4)),
    (torch.Size([3, 3]), (2, 4, 3, 3)),
    ([2, 3, 4], (2, 2, 3, 4)),
    ((3, 4), (3, 4)),
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """One of the variants prints and warns in every call."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def drawn(label: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float64, loc: float = 3.0) -> Tensor:
    """Numbers that depend on the label only."""
    generator = torch.Generator().manual_seed(zlib.crc32(label.encode()))
    return (2 * torch.randn(shape, generator=generator, dtype=torch.float64) + loc).to(dtype)


def tolerance(variant: Variant, dtype: torch.dtype = torch.float64) -> dict[str, float]:
    """What rounding explains: that of float64, or that of float32."""
    single = dtype == torch.float32 or variant.id == "float32-inside"
    return {"rtol": 2e-4, "atol": 2e-4} if single else {"rtol": 1e-9, "atol": 1e-9}


def layers(variant: Variant, name: str, shape: Any, dtype: torch.dtype, **options: Any) -> tuple[nn.Module, nn.Module]:
    """The variant's layer and torch's, with the same numbers in them."""
    own = define(variant.sources[name], name)(shape, **options).to(dtype)
    truth = getattr(nn, name)(shape, **options).to(dtype)
    for key, parameter in truth.named_parameters():
        parameter.data.copy_(drawn(key, tuple(parameter.shape), dtype, -1.5))
    own.load_state_dict(truth.state_dict(), strict=True)
    truth.load_state_dict(own.state_dict(), strict=True)
    return own, truth


def stepped(layer: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """The output and all gradients for a random upstream gradient."""
    x = x.detach().requires_grad_()
    layer.zero_grad()
    y = layer(x)
    y.backward(drawn("upstream", tuple(y.shape), y.dtype, 0.4))
    assert x.grad is not None
    found = {"y": y.detach(), "x.grad": x.grad}
    return found | {f"{name}.grad": p.grad.clone() for name, p in layer.named_parameters() if p.grad is not None}


def assert_alike(own: nn.Module, truth: nn.Module, x: Tensor, **bounds: float) -> None:
    """Both give the same output and gradients; x and its layout stay."""
    before = x.clone()
    given, wanted = stepped(own, x), stepped(truth, x.contiguous())
    assert given.keys() == wanted.keys()
    for key in wanted:
        torch.testing.assert_close(given[key], wanted[key], msg=lambda m, key=key: f"{key}: {m}", **bounds)
    assert torch.equal(x, before)


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm"])
@pytest.mark.parametrize("variant", BY_ID)
def test_a_layer_agrees_with_torch(variant: Variant, name: str) -> None:
    """For all shapes, with and without affine, both modes, a large eps and a small one, both dtypes, strided inputs."""
    asked: tuple[tuple[torch.dtype, dict[str, Any]], ...] = (
        (torch.float64, {"eps": 0.5}),
        (torch.float64, {"eps": 0.3, "elementwise_affine": False}),
        (torch.float32, {}),
    )
    for (shape, x_shape), (dtype, options) in itertools.product(SHAPES, asked):
        own, truth = layers(variant, name, shape, dtype, **options)
        x = drawn(f"{shape}", x_shape, dtype)
        bounds = tolerance(variant, dtype)
        assert_alike(own, truth, x, **bounds)
        axes = list(range(x.dim()))[::-1]
        assert_alike(own.eval(), truth, (0.1 * x).permute(axes).contiguous().permute(axes), **bounds)


@pytest.mark.parametrize("variant", BY_ID)
def test_layer_norm_refuses_a_wrong_trailing_shape(variant: Variant) -> None:
    """With a ValueError, whatever the options."""
    cls = define(variant.sources["LayerNorm"], "LayerNorm")
    for shape, x_shape in (
        (3, (2, 4)),
        (3, (2, 1)),
        (1, (2, 3)),
        ((2, 3), (3,)),
        ((2, 3), (4, 1, 3)),
        ((2, 3), (4, 3, 2)),
    ):
        for options in ({}, {"elementwise_affine": False}):
            with pytest.raises(ValueError, match=r".+"):
                cls(shape, **options)(torch.ones(x_shape))


@pytest.mark.parametrize("variant", BY_ID)
def test_layer_norm_of_constant_rows(variant: Variant) -> None:
    """They give bias and finite gradients."""
    own, truth = layers(variant, "LayerNorm", 3, torch.float64)
    assert_alike(own, truth, torch.full((2, 3), 2.5, dtype=torch.float64), **tolerance(variant))


@pytest.mark.parametrize("variant", BY_ID)
def test_rms_norm_takes_the_eps_of_the_dtype_and_keeps_the_dtype(variant: Variant) -> None:
    """eps=None is finfo(x.dtype).eps, for the x of each call; eps=0 is 0; the weight's dtype doesn't matter."""
    cls = define(variant.sources["RMSNorm"], "RMSNorm")
    own, without = cls(4), cls(4, eps=0.0)
    for dtype, size in ((torch.float32, 3e-4), (torch.float64, 1e-8), (torch.float32, 1e-4)):
        x = size * drawn("tiny", (2, 4), dtype, 0.5)
        for layer, eps in ((own, torch.finfo(dtype).eps), (without, 0.0)):
            y = layer(x)
            exact = x.double() / (x.double().square().mean(-1, keepdim=True) + eps).sqrt()
            assert y.dtype == dtype
            torch.testing.assert_close(y.double(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variant", BY_ID)
def test_the_backward_function_agrees_with_autograd_through_torch(variant: Variant) -> None:
    """For two to five axes, both dtypes, strided inputs; by keyword; the arguments stay."""
    backward = define(variant.sources["layer_norm_backward"], "layer_norm_backward")
    for shape, dtype, eps in itertools.product(
        ((3, 2), (2, 5), (4, 4), (3, 1), (2, 3, 4), (2, 2, 3, 2), (1, 2, 2, 1, 3)),
        (torch.float64, torch.float32),
        (1e-5, 0.5),
    ):
        x, grad, weight = drawn("x", shape, dtype), drawn("g", shape, dtype, 0.4), drawn("w", shape[-1:], dtype, -1.5)
        leaves = [t.double().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]
        y = nn.functional.layer_norm(leaves[0], shape[-1:], leaves[1], leaves[2], eps)
        wanted = [g.to(dtype) for g in torch.autograd.grad(y, leaves, grad.double())]
        axes = list(range(len(shape)))[::-1]
        for laid in (lambda t: t, lambda t: t.permute(axes).contiguous().permute(axes)):  # noqa: B023
            given = [laid(t) for t in (grad, x)]
            before = [t.clone() for t in given]
            found = backward(grad_out=given[0], x=given[1], weight=weight, eps=eps)
            assert len(found) == 3
            for a, b in zip(found, wanted, strict=True):
                torch.testing.assert_close(a, b, **tolerance(variant, dtype))
            assert all(torch.equal(a, b) for a, b in zip(given, before, strict=True))


@pytest.mark.parametrize("variant", BY_ID)
def test_a_variant_is_self_contained_and_does_its_own_work(variant: Variant) -> None:
    """Each source runs alone and defines its name; none calls torch's normalization, none runs autograd by hand."""
    assert tuple(variant.sources) == NAMES
    for name, source in variant.sources.items():
        assert callable(define(source, name))
    assert not re.search(r"nn\.\w*Norm|functional|F\.|batch_norm|group_norm|aten|autograd\.grad", variant.file)
    assert ".backward(" not in variant.sources["layer_norm_backward"]


def test_there_are_variants_enough() -> None:
    """At least nine, with different ids and really different texts."""
    assert len(VARIANTS) >= 9
    assert len({variant.id for variant in VARIANTS}) == len(VARIANTS)
    assert len({variant.file for variant in VARIANTS}) == len(VARIANTS)
