"""The reference layer norm and RMSNorm equal torch.nn wherever torch.nn can be trusted, and are right where it cannot.

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

from solutions.reference.layer_norm import LayerNorm, RMSNorm, layer_norm_backward, rms_norm_backward
from tests.reference import values
from tests.reference.values import assert_close, drawn, quick, randomized, step

spellings = st.sampled_from([list, tuple, torch.Size, "int"])


@st.composite
def inputs(draw: st.DrawFn) -> tuple[tuple[int, ...], object]:
    """A shape, and the last one to three of its axes as an int, a list, a tuple or a torch.Size."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=2, max_size=4)))
    k = draw(st.integers(1, min(3, len(shape))))
    spelling = draw(spellings)
    return shape, (shape[-1] if spelling == "int" else spelling(shape[-k:]))


def over(layer: nn.Module) -> tuple[int, ...]:
    return tuple(range(-len(layer.normalized_shape), 0))


def layer_noise(x: Tensor, upstream: Tensor, layer: nn.Module) -> float:
    """What rounding may cost, in float64; for RMSNorm (no bias) the set is not centred."""
    x = x.double()
    centred = x - x.mean(over(layer), keepdim=True) if hasattr(layer, "bias") else x
    s = (centred.square().mean(over(layer), keepdim=True) + layer.eps).sqrt()
    return values.noise(centred / s, s, upstream, layer.weight)


@quick
@given(inputs(), values.dtypes, values.layouts, values.epsilons, st.booleans(), values.seeds)
def test_layer_norm_equals_torch_over_shapes_dtypes_layouts_and_options(given_input, dtype, layout, eps, affine, seed):
    """Output and every gradient."""
    shape, normalized_shape = given_input
    layers = (kind(normalized_shape, eps=eps, elementwise_affine=affine) for kind in (LayerNorm, nn.LayerNorm))
    ours, theirs = randomized(*layers, dtype, seed)
    x, upstream = drawn(shape, seed, dtype, layout), drawn(shape, seed + 5, dtype, layout)
    got = step(ours, x, upstream)
    expected = step(theirs, x.double().contiguous(), upstream.double().contiguous())
    assert got.keys() == expected.keys()
    for name in got:
        assert_close(got[name], expected[name], dtype, layer_noise(x, upstream, theirs), name)


@quick
@given(inputs(), values.dtypes, values.layouts, st.sampled_from([None, 1e-5, 1e-3, 0.5]), st.booleans(), values.seeds)
def test_rms_norm_equals_torch_over_shapes_dtypes_layouts_and_options(given_input, dtype, layout, eps, affine, seed):
    """Output and every gradient; torch's float64 layer is told the eps that None means for the dtype of x."""
    shape, normalized_shape = given_input
    meant = torch.finfo(dtype).eps if eps is None else eps
    ours, theirs = randomized(
        RMSNorm(normalized_shape, eps=eps, elementwise_affine=affine),
        nn.RMSNorm(normalized_shape, eps=meant, elementwise_affine=affine),
        dtype,
        seed,
    )
    x, upstream = drawn(shape, seed, dtype, layout), drawn(shape, seed + 5, dtype, layout)
    got = step(ours, x, upstream)
    expected = step(theirs, x.double().contiguous(), upstream.double().contiguous())
    assert got.keys() == expected.keys()
    for name in got:
        assert_close(got[name], expected[name], dtype, layer_noise(x, upstream, theirs), name)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_eps_none_is_that_of_the_dtype_of_x(dtype):
    """The values are so small that eps decides. For half precision torch 2.13 documents float32's; this differs."""
    x = torch.full((2, 4), 1e-3, dtype=dtype)
    used = (x.double() / RMSNorm(4).to(dtype)(x).double()).square() - x.double().square()
    expected = torch.full((2, 4), torch.finfo(dtype).eps, dtype=torch.float64)
    torch.testing.assert_close(used, expected, rtol=0.05, atol=0)
    if dtype in (torch.float64, torch.float32):
        torch.testing.assert_close(RMSNorm(4).to(dtype)(x), nn.RMSNorm(4, dtype=dtype)(x))


def test_rms_norm_with_none_asks_x_and_not_its_own_weight():
    """A float32 layer given float64 uses the eps of float64, and gives float64 back."""
    x = torch.full((1, 4), 1e-8, dtype=torch.float64)
    y = RMSNorm(4)(x)
    assert y.dtype == torch.float64
    torch.testing.assert_close(y, x / (1e-16 + torch.finfo(torch.float64).eps) ** 0.5)


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
@pytest.mark.parametrize(("spelled", "shape"), [(3, (3,)), ([2, 3], (2, 3)), (torch.Size([2, 3]), (2, 3))])
def test_normalized_shape_is_kept_as_a_tuple(kind, spelled, shape):
    """As torch keeps it, and the parameters have that shape."""
    layer = kind(spelled)
    assert layer.normalized_shape == shape
    assert type(layer.normalized_shape) is tuple
    assert all(parameter.shape == shape for parameter in layer.parameters())


@pytest.mark.parametrize(("ours", "theirs"), [(LayerNorm, nn.LayerNorm), (RMSNorm, nn.RMSNorm)])
@pytest.mark.parametrize("affine", [True, False])
def test_state_dict_loads_both_ways_strictly(ours, theirs, affine):
    """Also torch's names where there is nothing to save: weight and bias are None."""
    values.assert_loads_both_ways(
        lambda: ours((4, 3), elementwise_affine=affine),
        lambda: theirs((4, 3), elementwise_affine=affine),
        drawn((2, 4, 3), 0),
    )
    assert affine or ours(3, elementwise_affine=False).weight is None


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
@pytest.mark.parametrize("normalized_shape", [(3,), (2, 3)])
def test_first_and_second_derivatives_in_float64(check, kind, normalized_shape):
    """With respect to x and every parameter."""
    layer = kind(normalized_shape, eps=1e-2).double()
    names = [name for name, _ in layer.named_parameters()]

    def call(x: Tensor, *parameters: Tensor) -> Tensor:
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    arguments = [drawn((2, 2, 3), 0), *(drawn(normalized_shape, k) for k, _ in enumerate(names))]
    assert check(call, [value.requires_grad_() for value in arguments])


@pytest.mark.parametrize("frozen", list(itertools.product([True, False], repeat=3))[1:-1])
def test_any_of_the_three_may_be_frozen(frozen):
    """The other gradients do not change when x, weight or bias wants none."""
    grads = []
    for layer in randomized(LayerNorm(3), nn.LayerNorm(3), torch.float64, 0):
        x = drawn((5, 3), 2)
        for value, still in zip((x, layer.weight, layer.bias), frozen, strict=True):
            value.requires_grad_(not still)
        layer(x).backward(drawn((5, 3), 3))
        grads.append([x.grad, layer.weight.grad, layer.bias.grad])
    for mine, truth, still in zip(*grads, frozen, strict=True):
        assert (mine is None) == (truth is None) == still
        if not still:
            torch.testing.assert_close(mine, truth)


@quick
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple),
    values.dtypes,
    values.layouts,
    values.epsilons,
    values.seeds,
)
def test_backward_by_hand_equals_autograd(shape, dtype, layout, eps, seed):
    """Both layers, against torch's autograd through torch's layers in float64."""
    x, upstream = drawn(shape, seed, dtype, layout), drawn(shape, seed + 5, dtype, layout)
    for kind, backward in ((nn.LayerNorm, layer_norm_backward), (nn.RMSNorm, rms_norm_backward)):
        _, truth = randomized(kind(shape[-1]), kind(shape[-1], eps=eps), dtype, seed)
        weight = truth.weight.detach().to(dtype).requires_grad_()
        expected = step(truth, x.double().contiguous(), upstream.double().contiguous())
        got = backward(upstream, x, weight, eps)
        assert len(got) == len(expected) - 1
        for value, name in zip(got, [name for name in expected if name != "output"], strict=True):
            assert not value.requires_grad
            assert_close(value, expected[name], dtype, layer_noise(x, upstream, truth), f"{backward.__name__}, {name}")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_backward_of_rms_norm_takes_the_eps_of_x_when_given_none(dtype):
    """The module and the function agree on values where eps decides."""
    x, upstream = drawn((3, 4), 0, dtype) * 1e-3, drawn((3, 4), 1, dtype)
    layer = RMSNorm(4).to(dtype)
    expected = step(layer, x, upstream)
    grad_x, grad_weight = rms_norm_backward(upstream, x, layer.weight)
    torch.testing.assert_close(grad_x, expected["grad_x"])
    torch.testing.assert_close(grad_weight, expected["grad_weight"])


def test_grad_x_of_layer_norm_has_no_part_along_one_and_x_hat():
    """With eps = 0 and weight 1 the gradient is a projection: shifting or stretching a row changes nothing."""
    x, upstream = drawn((6, 5), 0), drawn((6, 5), 1)
    grad_x, grad_weight, _ = layer_norm_backward(upstream, x, torch.ones(5, dtype=torch.float64), eps=0.0)
    x_hat = LayerNorm(5, eps=0.0).double()(x)
    torch.testing.assert_close(grad_x.sum(-1), torch.zeros(6, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close((grad_x * x_hat).sum(-1), torch.zeros(6, dtype=torch.float64), rtol=0, atol=1e-12)
    assert grad_weight.abs().min() > 0.1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("kind", "truth"), [(LayerNorm, nn.LayerNorm), (RMSNorm, nn.RMSNorm)])
@pytest.mark.parametrize("parameters", ["float32", "half"])
def test_half_precision_is_computed_in_float32(dtype, kind, truth, parameters):
    """Std 300 squared is above the largest float16; the error is one rounding of the output."""
    layer = kind(64, eps=1e-5)
    layer = layer.to(dtype) if parameters == "half" else layer
    x = (300 * torch.randn(8, 64, generator=torch.Generator().manual_seed(0))).to(dtype)
    y = layer(x)
    expected = truth(64, eps=1e-5).double()(x.double())
    assert y.dtype == dtype
    assert (y.double() - expected).abs().max() <= torch.finfo(dtype).eps * expected.abs().max()


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_float32_is_as_accurate_far_from_zero_as_near_it(offset):
    """Output and gradients; from 1e4 on, torch's float32 layer has lost three digits more."""
    x = (offset + drawn((64, 96), 0) / 30).float()
    upstream = torch.randn(64, 96, generator=torch.Generator().manual_seed(1))
    expected = step(nn.LayerNorm(96).double(), x.double(), upstream.double())

    def error(layer: nn.Module) -> float:
        got = step(layer, x, upstream)
        return max(
            float((got[name].double() - expected[name]).abs().max() / expected[name].abs().max()) for name in got
        )

    assert error(LayerNorm(96)) < 3e-6
    if offset >= 1e4:
        assert error(nn.LayerNorm(96)) > 1e-4


@pytest.mark.parametrize("value", [1e5, 1e6, 1.2345e7])
def test_one_value_has_nothing_to_scale_and_torch_is_wrong_about_it(value):
    """x_hat is 0 for a set of one value, and so is the gradient of weight; torch's is not.

    Should torch be repaired, this test fails and its last line may go.
    """
    x, upstream = torch.full((8, 1), value), torch.randn(8, 1, generator=torch.Generator().manual_seed(0))
    ours, theirs = LayerNorm((1,)), nn.LayerNorm((1,))
    got, wrong = step(ours, x, upstream), step(theirs, x, upstream)
    assert torch.equal(got["output"], torch.zeros(8, 1))
    assert torch.equal(got["grad_weight"], torch.zeros(1))
    assert torch.equal(layer_norm_backward(upstream, x, torch.ones(1))[1], torch.zeros(1))
    assert wrong["grad_weight"].abs() > 0.1


@quick
@given(st.integers(2, 60), st.sampled_from([0.1, 1e3 / 3, 1.2345e7, 3e9]))
def test_equal_values_come_out_as_the_bias(size, value):
    """A rounded mean must not become a spread: 1e-3 of the bias is far less than one x_hat."""
    y = LayerNorm(size)(torch.full((2, size), value))
    assert y.abs().max() < 1e-3


@pytest.mark.parametrize("a", [1e-3, 7.0])
def test_a_positive_factor_and_a_shift_change_nothing_but_a_negative_factor_does(a):
    """LN(a x + c) = LN(x) for a > 0 alone: LN(-x) = -LN(x). RMSNorm keeps the factor's part, not the shift's."""
    x = drawn((6, 5), 0)
    layer_norm, rms_norm = LayerNorm(5, eps=0.0).double(), RMSNorm(5, eps=0.0).double()
    torch.testing.assert_close(layer_norm(a * x + 3), layer_norm(x))
    torch.testing.assert_close(layer_norm(-a * x + 3), -layer_norm(x))
    assert (layer_norm(-a * x) - layer_norm(x)).abs().max() > 1
    torch.testing.assert_close(rms_norm(a * x), rms_norm(x))
    torch.testing.assert_close(rms_norm(-a * x), -rms_norm(x))
    assert (rms_norm(x + 3) - rms_norm(x)).abs().max() > 0.1
    # On rows that are centred already the two are one.
    torch.testing.assert_close(rms_norm(x - x.mean(-1, keepdim=True)), layer_norm(x))


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_a_sample_does_not_depend_on_the_others_nor_on_the_mode(kind):
    """One row alone, and among others, in training and in evaluation: the same bits; and no buffers at all."""
    layer, x = kind((4, 3)).double(), drawn((5, 4, 3), 0)
    y = layer(x)
    assert torch.equal(layer(x[2:3]), y[2:3])
    assert torch.equal(layer.eval()(x), y)
    assert list(layer.buffers()) == []
    assert layer(x[:0]).shape == (0, 4, 3)
    assert torch.equal(layer(x[2]), y[2])


def test_the_input_is_not_changed():
    """Also in float32 and float64, where widening copies nothing."""
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = drawn((4, 3), 0, dtype)
        kept, weight = x.clone(), torch.ones(3, dtype=dtype)
        for layer in (LayerNorm(3), RMSNorm(3)):
            layer.to(dtype)(x)
        layer_norm_backward(x, x, weight)
        rms_norm_backward(x, x, weight)
        assert torch.equal(x, kept)
        assert torch.equal(weight, torch.ones(3, dtype=dtype))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: LayerNorm(4)(torch.zeros(2, 3)), "last axes are (4); got shape (2, 3)"),
        (lambda: LayerNorm(1)(torch.zeros(2, 3)), "last axes are (1); got shape (2, 3)"),
        (lambda: LayerNorm(4, elementwise_affine=False)(torch.zeros(2, 3)), "got shape (2, 3)"),
        (lambda: LayerNorm((2, 3))(torch.zeros(5, 3)), "last axes are (2, 3); got shape (5, 3)"),
        (lambda: LayerNorm((2, 3))(torch.zeros(3)), "got shape (3,)"),
        (lambda: LayerNorm((3, 2))(torch.zeros(4, 2, 3)), "got shape (4, 2, 3)"),
        (lambda: LayerNorm(3)(torch.tensor(1.0)), "got shape ()"),
        (lambda: LayerNorm(()), "at least one axis"),
        (lambda: LayerNorm(3)(torch.zeros(2, 3, dtype=torch.int64)), "needs a floating dtype; got torch.int64"),
        (lambda: RMSNorm(4)(torch.zeros(2, 3)), "RMSNorm needs an input whose last axes are (4)"),
        (lambda: RMSNorm([]), "at least one axis"),
        (lambda: RMSNorm(3)(torch.zeros(2, 3, dtype=torch.bool)), "needs a floating dtype"),
        (lambda: layer_norm_backward(torch.zeros(3), torch.zeros(3), torch.ones(3)), "at least 2 axes"),
        (lambda: layer_norm_backward(torch.zeros(4, 2), torch.zeros(4, 3), torch.ones(3)), "(4, 3), (4, 2) and (3,)"),
        (lambda: rms_norm_backward(torch.zeros(4, 3), torch.zeros(4, 3), torch.ones(1)), "rms_norm_backward needs"),
    ],
)
def test_bad_input_gets_a_sentence(call: Callable[[], Tensor], sentence: str):
    """ValueError, with what was given in it."""
    values.assert_raises(call, sentence)


def test_no_normalization_of_torch_does_the_work():
    """Forward, autograd's backward, and the backward by hand."""
    x, upstream = drawn((2, 4, 3), 0, torch.float32), drawn((2, 4, 3), 1, torch.float32)

    def run() -> None:
        for layer in (LayerNorm((4, 3)), RMSNorm(3)):
            step(layer, x, upstream)
        layer_norm_backward(upstream, x, torch.ones(3))
        rms_norm_backward(upstream, x, torch.ones(3))

    values.assert_no_torch_normalization(run)
