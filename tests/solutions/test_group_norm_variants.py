"""Every variant of lab 3 is an honest solution: it does what torch.nn does wherever the contract speaks.

Nothing of the grader is used: layers are called and compared with torch's own, in float64 and float32. So are the references
that the checks compare with.
"""

from __future__ import annotations

import contextlib
import copy
import io
import re
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_truth import define, layouts

from autograder.checks.check import Variant
from solutions.lab03_group_norm import references
from solutions.lab03_group_norm.variants import VARIANTS

NAMES = ("GroupNorm", "group_norm_backward", "InstanceNorm2d", "statistics_shape")
BY_ID = [pytest.param(variant, id=variant.id) for variant in VARIANTS]
SHAPES = (
    (2, (2, 4, 3)),
    (3, (3, 6)),
    (2, (3, 6, 2)),
    (1, (2, 3, 4)),
    (3, (2, 3, 3)),
    (2, (4, 4, 4, 4)),
    (3, (1, 6, 2, 1)),
    (2, (2, 4, 1, 2, 3)),
)
IMAGES = ((2, 3, 2, 4), (1, 2, 1, 3), (3, 3, 3, 3), (2, 1, 2, 2))


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


def close(variant: Variant, dtype: torch.dtype = torch.float64) -> dict[str, float]:
    """What rounding explains: that of float64, or that of float32."""
    single = dtype == torch.float32 or "float32" in variant.id
    return {"rtol": 2e-4, "atol": 2e-4} if single else {"rtol": 1e-9, "atol": 1e-9}


def filled(own: nn.Module, truth: nn.Module, dtype: torch.dtype) -> tuple[nn.Module, nn.Module]:
    """The layer and torch's with the same numbers in them; the state dictionaries go both ways."""
    own, truth = own.to(dtype), truth.to(dtype)
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


def agree(own: nn.Module, truth: nn.Module, x: Tensor, **tolerance: float) -> None:
    """The same output and gradients, in both modes; x stays, a copy does the same."""
    before, expected = x.detach().clone(), stepped(truth, x.contiguous())
    for layer in (own.train(), own.eval(), copy.deepcopy(own)):
        given = stepped(layer, x)
        assert given.keys() == expected.keys()
        for name, number in expected.items():
            torch.testing.assert_close(given[name], number, **tolerance)
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("variant", BY_ID)
def test_group_norm_agrees_with_torch(variant: Variant, dtype: torch.dtype) -> None:
    """All ranks, with and without parameters, one group and as many as channels, a large eps."""
    cls = define(variant.sources["GroupNorm"], "GroupNorm")
    for groups, shape in SHAPES:
        for options in ({"eps": 0.5}, {"affine": False}, {"affine": True, "eps": 1e-5}):
            own, truth = filled(cls(groups, shape[1], **options), nn.GroupNorm(groups, shape[1], **options), dtype)
            agree(own, truth, drawn(str(shape), shape, dtype), **close(variant, dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("variant", BY_ID)
def test_instance_norm_agrees_with_torch(variant: Variant, dtype: torch.dtype) -> None:
    """Images of several shapes, with and without parameters."""
    cls = define(variant.sources["InstanceNorm2d"], "InstanceNorm2d")
    for shape in IMAGES:
        for options in ({}, {"affine": True, "eps": 0.5}):
            own, truth = filled(cls(shape[1], **options), nn.InstanceNorm2d(shape[1], **options), dtype)
            agree(own, truth, drawn(str(shape), shape, dtype), **close(variant, dtype))


@pytest.mark.parametrize("variant", BY_ID)
def test_layers_take_any_layout_and_frozen_parameters(variant: Variant) -> None:
    """Transposed, sliced and channels-last inputs; a frozen weight or bias has no gradient, the others keep theirs."""
    pairs = (
        ("GroupNorm", (2, 4), nn.GroupNorm(2, 4), (2, 4, 3, 2)),
        ("InstanceNorm2d", (3, 1e-5, True), nn.InstanceNorm2d(3, affine=True), (2, 3, 2, 4)),
    )
    for name, args, truth, shape in pairs:
        own, truth = filled(define(variant.sources[name], name)(*args), truth, torch.float64)
        for _, x in layouts(drawn(name, shape)):
            agree(own, truth, x, **close(variant))
        for frozen in ("weight", "bias"):
            for layer in (own, truth):
                layer.requires_grad_(True).get_parameter(frozen).requires_grad_(False)
                layer.zero_grad(set_to_none=True)
            agree(own, truth, drawn(name, shape), **close(variant))


@pytest.mark.parametrize("variant", BY_ID)
def test_few_values(variant: Variant) -> None:
    """One value per group comes out as the bias, a constant group too, with a finite gradient; one sample is enough."""
    cls = define(variant.sources["GroupNorm"], "GroupNorm")
    for groups, x in ((4, drawn("one value", (3, 4))), (2, torch.full((2, 4, 3), 2.5, dtype=torch.float64))):
        layer = cls(groups, 4).double()
        layer.bias.data.copy_(drawn("bias", (4,)))
        found = stepped(layer, x)
        bias = layer.bias.detach().view(-1, *[1] * (x.dim() - 2)).expand_as(x)
        torch.testing.assert_close(found["y"], bias, rtol=0, atol=1e-6)
        assert all(bool(torch.isfinite(number).all()) for number in found.values())
    assert cls(2, 4).double()(drawn("one sample", (1, 4))).shape == (1, 4)


@pytest.mark.parametrize("variant", BY_ID)
def test_layers_refuse_what_the_contract_refuses(variant: Variant) -> None:
    """ValueError for C that G does not divide, in the constructor or at the first call, and for one pixel; else any error."""
    group, instance = (define(variant.sources[name], name) for name in ("GroupNorm", "InstanceNorm2d"))
    for groups, channels in ((4, 6), (4, 2)):
        with pytest.raises(ValueError, match=r".*"):
            group(groups, channels)(torch.ones(2, channels, 4))
    for groups, channels, shape in ((2, 4, (3, 6, 2)), (1, 3, (2, 1, 4)), (1, 1, (2, 3, 4)), (1, 4, (4,))):
        with pytest.raises(Exception, match=r".*"):
            group(groups, channels)(torch.ones(shape))
    for layer in (instance(2), instance(2).eval(), instance(2, affine=True)):
        with pytest.raises(ValueError, match=r".*"):
            layer(torch.ones(3, 2, 1, 1))
    for shape in ((2, 3), (3,), (2, 3, 2, 2, 2), (2, 4, 2, 2), (2, 1, 2, 2)):
        for layer in (instance(3), instance(3, affine=True)):
            with pytest.raises(Exception, match=r".*"):
                layer(torch.ones(shape))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("variant", BY_ID)
def test_the_backward_function_agrees_with_autograd_through_torch(variant: Variant, dtype: torch.dtype) -> None:
    """All shapes and layouts, by position and by keyword; the arguments stay."""
    backward = define(variant.sources["group_norm_backward"], "group_norm_backward")
    for groups, shape in SHAPES:
        for options in ({}, {"eps": 0.5}):
            x, grad = drawn(str(shape), shape, dtype), drawn("grad", shape, dtype, 0.4)
            weight = drawn("weight", (shape[1],), dtype, -1.5)
            expected = gradients(grad, x, groups, weight, **options)
            for laid_out in (x, *(y for _, y in layouts(x))):
                before = [t.clone() for t in (grad, laid_out, weight)]
                given = backward(grad_out=grad, x=laid_out, num_groups=groups, weight=weight, **options)
                for own, number in zip(given, expected, strict=True):
                    torch.testing.assert_close(own, number, **close(variant, dtype))
                assert all(torch.equal(*pair) for pair in zip(before, (grad, laid_out, weight), strict=True))


def gradients(grad: Tensor, x: Tensor, groups: int, weight: Tensor, eps: float = 1e-5) -> tuple[Tensor, ...]:
    """By autograd through torch's own function, in float64."""
    leaves = [t.detach().double().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]
    y = nn.functional.group_norm(leaves[0], groups, leaves[1], leaves[2], eps)
    return tuple(g.to(x.dtype) for g in torch.autograd.grad(y, leaves, grad.double()))


@pytest.mark.parametrize("variant", BY_ID)
def test_the_table_of_shapes(variant: Variant) -> None:
    """As the page has it; an error for an unknown kind."""
    shape: Any = define(variant.sources["statistics_shape"], "statistics_shape")
    for n, length, c, groups in ((8, 16, 32, 4), (3, 2, 6, 2), (1, 1, 4, 4)):
        expected = {"batch": (c,), "layer": (n,), "token": (n, length), "group": (n, groups)}
        for kind, wanted in expected.items():
            assert shape(kind, n, length, c, groups) == wanted
            assert isinstance(shape(kind=kind, n=n, l=length, c=c, num_groups=groups), tuple)
    with pytest.raises(Exception, match=r".*"):
        shape("instance", 2, 3, 4)


@pytest.mark.parametrize("variant", BY_ID)
def test_a_variant_is_self_contained_and_does_its_own_work(variant: Variant) -> None:
    """Each source runs alone; no call of torch's normalization, no autograd in the backward function."""
    assert tuple(variant.sources) == NAMES
    assert not re.search(r"nn\.(Group|Instance|Layer|Batch)Norm|functional|F\.|aten|autograd\.grad", variant.file)
    assert ".backward(" not in variant.sources["group_norm_backward"]


def test_there_are_variants_enough() -> None:
    """At least fifteen, with different ids and really different texts."""
    assert len(VARIANTS) >= 15
    assert len({variant.id for variant in VARIANTS}) == len({variant.file for variant in VARIANTS}) == len(VARIANTS)


def test_the_references_of_the_checks_agree_with_torch() -> None:
    """They round otherwise than solutions/reference and raise a plain Exception in places; nothing else is different."""
    for groups, shape in SHAPES:
        own, truth = filled(references.GroupNorm(groups, shape[1]), nn.GroupNorm(groups, shape[1]), torch.float64)
        x, grad = drawn(str(shape), shape), drawn("grad", shape, loc=0.4)
        agree(own, truth, x, rtol=1e-9, atol=1e-9)
        weight = drawn("weight", (shape[1],), loc=-1.5)
        given = references.group_norm_backward(grad, x, groups, weight)
        for pair in zip(given, gradients(grad, x, groups, weight), strict=True):
            torch.testing.assert_close(*pair, rtol=1e-9, atol=1e-9)
    for shape in IMAGES:
        layer = filled(
            references.InstanceNorm2d(shape[1], affine=True), nn.InstanceNorm2d(shape[1], affine=True), torch.float64
        )
        agree(*layer, drawn(str(shape), shape), rtol=1e-9, atol=1e-9)
