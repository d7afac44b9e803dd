"""The reference group norm and instance norm equal torch.nn wherever it can be trusted, and are right where it cannot.

torch's layers get contiguous float64 copies, whatever the layout and the dtype given to the reference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from solutions.reference.group_norm import GroupNorm, InstanceNorm2d, group_norm_backward, statistics_shape
from solutions.reference.layer_norm import LayerNorm
from tests.reference import values
from tests.reference.values import assert_close, drawn, quick, randomized, step


@st.composite
def inputs(draw: st.DrawFn) -> tuple[tuple[int, ...], int]:
    """(N, C, *) with none to three axes of space, and a number of groups that divides C."""
    channels = draw(st.sampled_from([1, 2, 4, 6, 8, 9, 12]))
    groups = draw(st.sampled_from([g for g in range(1, channels + 1) if channels % g == 0]))
    shape = (draw(st.integers(1, 4)), channels, *draw(st.lists(st.integers(1, 4), max_size=3)))
    if torch.Size(shape).numel() == groups:  # one value in all: refused by torch and by the reference
        shape = (2, *shape[1:])
    return shape, groups


def group_noise(x: Tensor, groups: int, upstream: Tensor, layer: nn.Module) -> float:
    """What rounding may cost, in float64."""
    rows = x.double().reshape(len(x), groups, -1)
    centred = rows - rows.mean(2, keepdim=True)
    s = (centred.square().mean(2, keepdim=True) + layer.eps).sqrt()
    return values.noise(centred / s, s, upstream, layer.weight)


@quick
@given(inputs(), values.dtypes, values.layouts, values.epsilons, st.booleans(), values.seeds)
def test_group_norm_equals_torch_over_shapes_dtypes_layouts_and_options(given_input, dtype, layout, eps, affine, seed):
    """Output and every gradient."""
    shape, groups = given_input
    layers = (kind(groups, shape[1], eps=eps, affine=affine) for kind in (GroupNorm, nn.GroupNorm))
    ours, theirs = randomized(*layers, dtype, seed)
    x, upstream = drawn(shape, seed, dtype, layout), drawn(shape, seed + 5, dtype, layout)
    got = step(ours, x, upstream)
    expected = step(theirs, x.double().contiguous(), upstream.double().contiguous())
    assert got.keys() == expected.keys()
    for name in got:
        assert_close(got[name], expected[name], dtype, group_noise(x, groups, upstream, theirs), name)


@quick
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(2, 5)),
    values.dtypes,
    values.layouts,
    values.epsilons,
    st.booleans(),
    values.seeds,
)
def test_instance_norm_equals_torch_over_shapes_dtypes_layouts_and_options(shape, dtype, layout, eps, affine, seed):
    """Output and every gradient, and the same in evaluation."""
    layers = (kind(shape[1], eps=eps, affine=affine) for kind in (InstanceNorm2d, nn.InstanceNorm2d))
    ours, theirs = randomized(*layers, dtype, seed)
    x, upstream = drawn(shape, seed, dtype, layout), drawn(shape, seed + 5, dtype, layout)
    got = step(ours, x, upstream)
    expected = step(theirs, x.double().contiguous(), upstream.double().contiguous())
    assert got.keys() == expected.keys()
    for name in got:
        assert_close(got[name], expected[name], dtype, group_noise(x, shape[1], upstream, theirs), name)
    assert torch.equal(ours.eval()(x), got["output"])


@quick
@given(inputs(), values.dtypes, values.layouts, values.epsilons, values.seeds)
def test_backward_by_hand_equals_autograd(given_input, dtype, layout, eps, seed):
    """Against torch's autograd through torch's layer in float64; weight differs inside a group."""
    shape, groups = given_input
    _, truth = randomized(GroupNorm(groups, shape[1]), nn.GroupNorm(groups, shape[1], eps=eps), dtype, seed)
    weight = truth.weight.detach().to(dtype).requires_grad_()
    x, upstream = drawn(shape, seed, dtype, layout), drawn(shape, seed + 5, dtype, layout)
    expected = step(truth, x.double().contiguous(), upstream.double().contiguous())
    got = group_norm_backward(upstream, x, groups, weight, eps)
    for value, name in zip(got, ("grad_x", "grad_weight", "grad_bias"), strict=True):
        assert not value.requires_grad
        assert_close(value, expected[name], dtype, group_noise(x, groups, upstream, truth), name)


@pytest.mark.parametrize("affine", [True, False])
def test_state_dicts_load_both_ways_strictly(affine):
    """torch's InstanceNorm2d has no affine parameters unless asked, and tracks nothing unless asked."""
    values.assert_loads_both_ways(
        lambda: GroupNorm(2, 6, affine=affine), lambda: nn.GroupNorm(2, 6, affine=affine), drawn((3, 6, 2), 0)
    )
    values.assert_loads_both_ways(
        lambda: InstanceNorm2d(3, affine=affine), lambda: nn.InstanceNorm2d(3, affine=affine), drawn((2, 3, 2, 2), 0)
    )
    assert list(InstanceNorm2d(3).state_dict()) == []
    assert GroupNorm(1, 3, affine=False).weight is None


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (GroupNorm(2, 4, eps=1e-2), (2, 4)),
        (GroupNorm(2, 4, eps=1e-2), (2, 4, 2)),
        (GroupNorm(1, 2, eps=1e-2), (2, 2, 1, 2)),
        (InstanceNorm2d(2, eps=1e-2, affine=True), (1, 2, 2, 2)),
    ],
)
def test_first_and_second_derivatives_in_float64(check, layer, shape):
    """With respect to x, weight and bias."""

    def call(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    arguments = [drawn(shape, 0), drawn((shape[1],), 1), drawn((shape[1],), 2)]
    assert check(call, [value.requires_grad_() for value in arguments])


@pytest.mark.parametrize("frozen", list(itertools.product([True, False], repeat=3))[1:-1])
def test_any_of_the_three_may_be_frozen(frozen):
    """The other gradients do not change when x, weight or bias wants none."""
    grads = []
    for layer in randomized(GroupNorm(2, 4), nn.GroupNorm(2, 4), torch.float64, 0):
        x = drawn((3, 4, 2), 2)
        for value, still in zip((x, layer.weight, layer.bias), frozen, strict=True):
            value.requires_grad_(not still)
        layer(x).backward(drawn((3, 4, 2), 3))
        grads.append([x.grad, layer.weight.grad, layer.bias.grad])
    for mine, truth, still in zip(*grads, frozen, strict=True):
        assert (mine is None) == (truth is None) == still
        if not still:
            torch.testing.assert_close(mine, truth)


def test_one_group_is_a_layer_norm_over_channels_and_space():
    """The same output and grad_x; token layer norm, over the channels of one position, is another thing."""
    x, upstream = drawn((3, 4, 5), 0), drawn((3, 4, 5), 1)
    group, layer = step(GroupNorm(1, 4).double(), x, upstream), step(LayerNorm((4, 5)).double(), x, upstream)
    torch.testing.assert_close(group["output"], layer["output"])
    torch.testing.assert_close(group["grad_x"], layer["grad_x"])
    # One weight for each channel, where layer norm has one for each channel and position.
    torch.testing.assert_close(group["grad_weight"], layer["grad_weight"].sum(1))
    token = LayerNorm(4).double()(x.transpose(1, 2)).transpose(1, 2)
    assert (group["output"] - token).abs().max() > 0.5
    # Without space there is one position, and the three agree.
    torch.testing.assert_close(GroupNorm(1, 4).double()(x[..., 0]), LayerNorm(4).double()(x[..., 0]))


def test_as_many_groups_as_channels_is_instance_norm():
    """Forward, autograd and the backward by hand."""
    x, upstream = drawn((2, 3, 4, 5), 0), drawn((2, 3, 4, 5), 1)
    group, instance = GroupNorm(3, 3).double(), InstanceNorm2d(3, affine=True).double()
    instance.load_state_dict(group.state_dict())
    got, expected = step(group, x, upstream), step(instance, x, upstream)
    for name in expected:
        torch.testing.assert_close(got[name], expected[name])
    by_hand = group_norm_backward(upstream, x, 3, torch.ones(3, dtype=torch.float64))
    for value, name in zip(by_hand, ("grad_x", "grad_weight", "grad_bias"), strict=True):
        torch.testing.assert_close(value, expected[name])


def test_groups_are_neighbouring_channels():
    """Channels 0, 1 and channels 2, 3 are each constant up to a sign: cut otherwise, the result is not +-1."""
    x = torch.tensor([[-1.0, 1.0, -100.0, 100.0]]).double()
    torch.testing.assert_close(GroupNorm(2, 4, eps=0.0).double()(x), torch.tensor([[-1.0, 1.0, -1.0, 1.0]]).double())


def test_two_values_per_group_keep_only_the_sign_and_one_keeps_nothing():
    """On (N, C): C / G = 2 gives +-1 and C / G = 1 gives 0, so the bias, whatever the data."""
    x = drawn((5, 4), 0)
    torch.testing.assert_close(
        GroupNorm(2, 4, eps=0.0).double()(x).abs(), torch.ones(5, 4, dtype=torch.float64), rtol=0, atol=1e-9
    )
    assert torch.equal(GroupNorm(4, 4).double()(x), torch.zeros(5, 4, dtype=torch.float64))


def test_a_sample_does_not_depend_on_the_others_nor_on_the_mode():
    """One sample alone, and among others, in training and in evaluation: the same bits; and no buffers at all."""
    x = drawn((5, 4, 3, 2), 0)
    for layer in (GroupNorm(2, 4).double(), InstanceNorm2d(4, affine=True).double()):
        y = layer(x)
        assert torch.equal(layer(x[2:3]), y[2:3])
        assert torch.equal(layer.eval()(x), y)
        assert list(layer.buffers()) == []
        assert layer(x[:0]).shape == (0, 4, 3, 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("parameters", ["float32", "half"])
def test_half_precision_is_computed_in_float32(dtype, parameters):
    """Std 300 squared is above the largest float16; the error is one rounding of the output."""
    x = (300 * torch.randn(4, 6, 5, 5, generator=torch.Generator().manual_seed(0))).to(dtype)
    for layer, truth in ((GroupNorm(3, 6), nn.GroupNorm(3, 6)), (InstanceNorm2d(6, affine=True), nn.InstanceNorm2d(6))):
        y = (layer.to(dtype) if parameters == "half" else layer)(x)
        expected = truth.double()(x.double())
        assert y.dtype == dtype
        assert (y.double() - expected).abs().max() <= torch.finfo(dtype).eps * expected.abs().max()


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_float32_is_as_accurate_far_from_zero_as_near_it(offset):
    """Output and gradients; from 1e4 on, torch's float32 layer has lost two digits more."""
    generator = torch.Generator().manual_seed(0)
    x = (offset + torch.randn(4, 6, 8, 8, generator=generator, dtype=torch.float64)).float()
    upstream = torch.randn(4, 6, 8, 8, generator=generator)
    expected = step(nn.GroupNorm(2, 6).double(), x.double(), upstream.double())

    def error(layer: nn.Module) -> float:
        got = step(layer, x, upstream)
        return max(
            float((got[name].double() - expected[name]).abs().max() / expected[name].abs().max()) for name in got
        )

    assert error(GroupNorm(2, 6)) < 3e-6
    if offset >= 1e4:
        assert error(nn.GroupNorm(2, 6)) > 1e-4


def test_equal_values_come_out_as_the_bias_and_torch_is_wrong_about_it():
    """The differences from the mean are 0, so x_hat is 0; torch on the CPU gives 54.9 for this value.

    Should torch be repaired, this test fails and its last assertion may go.
    """
    x = torch.full((2, 4, 3, 3), 1.2345e7)
    for ours, theirs in ((GroupNorm(2, 4), nn.GroupNorm(2, 4)), (InstanceNorm2d(4), nn.InstanceNorm2d(4))):
        assert torch.equal(ours(x), torch.zeros_like(x))
        assert theirs(x).abs().max() > 50


@quick
@given(st.integers(2, 60), st.sampled_from([0.1, 1e3 / 3, 1.2345e7, 3e9]))
def test_equal_values_of_any_number_come_out_as_the_bias(size, value):
    """A rounded mean must not become a spread: 1e-3 is far less than one x_hat."""
    assert GroupNorm(2, 4)(torch.full((2, 4, size), value)).abs().max() < 1e-3


def test_the_input_is_not_changed():
    """Also in float32 and float64, where widening copies nothing."""
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = drawn((3, 4, 2, 2), 0, dtype)
        kept = x.clone()
        for layer in (GroupNorm(2, 4), InstanceNorm2d(4)):
            layer.to(dtype)(x)
        group_norm_backward(x, x, 2, torch.ones(4, dtype=dtype))
        assert torch.equal(x, kept)


@quick
@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from([(4, 2), (6, 3), (5, 1), (3, 3)]))
def test_statistics_shape_is_the_shape_of_the_means(n, length, channels_and_groups):
    """Of an input (N, L, C): the number of means that each norm takes, counted on the means themselves."""
    c, groups = channels_and_groups
    x = torch.zeros(n, length, c)
    means = {
        "batch": x.mean((0, 1)),
        "layer": x.mean((1, 2)),
        "token": x.mean(2),
        "group": x.reshape(n, length, groups, c // groups).mean((1, 3)),
    }
    for kind, mean in means.items():
        shape = statistics_shape(kind, n, length, c, groups)
        assert shape == tuple(mean.shape)
        assert type(shape) is tuple
    assert statistics_shape("token", n, l=length, c=c) == (n, length)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: GroupNorm(4, 6), "6 channels cannot be cut into 4 groups"),
        (lambda: GroupNorm(6, 2), "2 channels cannot be cut into 6 groups"),
        (lambda: GroupNorm(0, 4), "4 channels cannot be cut into 0 groups"),
        (lambda: GroupNorm(-2, 4), "4 channels cannot be cut into -2 groups"),
        (lambda: GroupNorm(2, 4)(torch.zeros(3, 6)), "GroupNorm needs 4 channels on axis 1; got shape (3, 6)"),
        (lambda: GroupNorm(2, 4, affine=False)(torch.zeros(3, 6, 2)), "needs 4 channels"),
        (lambda: GroupNorm(2, 4)(torch.zeros(4)), "GroupNorm takes (N, C, *); got shape (4,)"),
        (lambda: GroupNorm(2, 4)(torch.zeros(2, 4, dtype=torch.int64)), "needs a floating dtype; got torch.int64"),
        (lambda: GroupNorm(4, 4)(torch.zeros(1, 4)), "more than one value per group"),
        (lambda: GroupNorm(4, 4)(torch.zeros(1, 4, 1, 1)), "more than one value per group"),
        (lambda: InstanceNorm2d(3)(torch.zeros(2, 4, 2, 2)), "InstanceNorm2d needs 3 channels on axis 1"),
        (lambda: InstanceNorm2d(3)(torch.zeros(3, 2, 2)), "InstanceNorm2d takes (N, C, H, W); got shape (3, 2, 2)"),
        (lambda: InstanceNorm2d(3)(torch.zeros(2, 3)), "takes (N, C, H, W)"),
        (lambda: InstanceNorm2d(3)(torch.zeros(2, 3, 1, 1)), "more than one value per channel"),
        (lambda: InstanceNorm2d(3).eval()(torch.zeros(2, 3, 1, 1)), "more than one value per channel"),
        (lambda: group_norm_backward(torch.zeros(2, 4), torch.zeros(2, 4), 3, torch.ones(4)), "into 3 groups"),
        (lambda: group_norm_backward(torch.zeros(2, 4, 1), torch.zeros(2, 4), 2, torch.ones(4)), "(2, 4), (2, 4, 1)"),
        (lambda: group_norm_backward(torch.zeros(2, 4), torch.zeros(2, 4), 2, torch.ones(2)), "and (2,)"),
        (lambda: statistics_shape("group", 2, 3, 4), "needs num_groups; got None"),
        (lambda: statistics_shape("group", 2, 3, 4, 3), "into 3 groups"),
        (lambda: statistics_shape("instance", 2, 3, 4), "got 'instance'"),
    ],
)
def test_bad_input_gets_a_sentence(call: Callable[[], object], sentence: str):
    """ValueError, with what was given in it."""
    values.assert_raises(call, sentence)


def test_no_normalization_of_torch_does_the_work():
    """Forward, autograd's backward, and the backward by hand."""
    x, upstream = drawn((2, 4, 3, 2), 0, torch.float32), drawn((2, 4, 3, 2), 1, torch.float32)

    def run() -> None:
        for layer in (GroupNorm(2, 4), InstanceNorm2d(4, affine=True)):
            step(layer, x, upstream)
        group_norm_backward(upstream, x, 2, torch.ones(4))

    values.assert_no_torch_normalization(run)
