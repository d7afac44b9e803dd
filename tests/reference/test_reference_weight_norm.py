"""The reference weight-normalized linear layer equals torch's two weight norms, and keeps what it was given apart."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from solutions.reference.weight_norm import WeightNormLinear, weight_norm_backward
from tests.reference import values
from tests.reference.values import drawn, quick, step

OURS_TO_TORCH = {
    "weight_g": "parametrizations.weight.original0",
    "weight_v": "parametrizations.weight.original1",
    "bias": "bias",
}
sizes = st.integers(1, 6)


def layer_of(inputs: int, outputs: int, seed: int, bias: bool = True) -> WeightNormLinear:
    """With a g that is not the length of v: another size, and some of it negative."""
    layer = WeightNormLinear(inputs, outputs, bias=bias).double()
    generator = torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return layer


def torch_copy(layer: WeightNormLinear) -> nn.Module:
    """torch's parametrized nn.Linear in float64 with the same g, v and bias."""
    theirs = weight_norm(nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None)).double()
    renamed = {OURS_TO_TORCH[name]: value.double() for name, value in layer.state_dict().items()}
    theirs.load_state_dict(renamed, strict=True)
    return theirs


@quick
@given(
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
    sizes,
    sizes,
    st.booleans(),
    values.dtypes,
    st.sampled_from(["contiguous", "sliced", "expanded"]),
    values.seeds,
)
def test_equals_torch_over_shapes_dtypes_and_layouts(rows, inputs, outputs, bias, dtype, layout, seed):
    """Output and every gradient, for x with any number of axes before the last."""
    layer = layer_of(inputs, outputs, seed, bias).to(dtype)
    theirs = torch_copy(layer)
    x, upstream = drawn((*rows, inputs), seed, dtype), drawn((*rows, outputs), seed + 1, dtype)
    if layout == "sliced":
        x = values.laid_out(x, "sliced")
    elif layout == "expanded":
        x = x[..., :1].expand(*rows, inputs)
    got = step(layer, x, upstream)
    expected = step(theirs, x.double().contiguous(), upstream.double())
    length = layer.weight_v.double().norm(dim=1).min().item()
    weight = layer.weight_g.double().abs().max().item()
    size = (
        (1 + x.double().abs().max().item())
        * (1 + upstream.double().abs().max().item())
        * (1 + weight)
        * (1 + 1 / length)
    )
    for name, value in got.items():
        truth = expected["grad_" + OURS_TO_TORCH[name[5:]]] if name[5:] in OURS_TO_TORCH else expected[name]
        values.assert_close(value, truth, dtype, 10 * size, name)


@quick
@given(sizes, sizes, values.seeds)
def test_rows_of_the_weight_have_length_g_and_the_direction_of_v(inputs, outputs, seed):
    """||w_i|| = |g_i|, and w_i is v_i times a number of g_i's sign."""
    layer = layer_of(inputs, outputs, seed)
    weight, g, v = layer.weight.detach(), layer.weight_g.detach(), layer.weight_v.detach()
    torch.testing.assert_close(weight.norm(dim=1, keepdim=True), g.abs())
    torch.testing.assert_close(weight * v.norm(dim=1, keepdim=True), v * g)


@pytest.mark.parametrize("bias", [True, False])
def test_it_starts_as_the_plain_linear_layer_of_the_same_seed(bias):
    """v and bias are drawn as nn.Linear draws them, and g is the length of each row of v."""
    torch.manual_seed(3)
    layer = WeightNormLinear(5, 4, bias=bias)
    torch.manual_seed(3)
    linear = nn.Linear(5, 4, bias=bias)
    torch.testing.assert_close(layer.weight_v.data, linear.weight.data)
    torch.testing.assert_close(layer.weight_g.data, linear.weight.data.norm(dim=1, keepdim=True))
    x = drawn((3, 5), 0, torch.float32)
    torch.testing.assert_close(layer(x), linear(x))
    expected = [("weight_g", (4, 1)), ("weight_v", (4, 5)), ("bias", (4,))][: 3 if bias else 2]
    assert [(name, tuple(value.shape)) for name, value in layer.named_parameters()] == expected
    assert list(layer.buffers()) == []
    assert bias or layer.bias is None


def test_forward_leaves_v_and_g_untouched_and_a_step_moves_both():
    """The optimizer must start from v, not from v / ||v||; and training makes v longer, never shorter."""
    layer = layer_of(5, 4, 0)
    kept = {name: value.detach().clone() for name, value in layer.named_parameters()}
    y = layer(drawn((6, 5), 1))
    for name, value in layer.named_parameters():
        assert torch.equal(value, kept[name]), name
    y.square().sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.01).step()
    for name, value in layer.named_parameters():
        assert not torch.equal(value, kept[name]), name
    assert (layer.weight_v.norm(dim=1) > kept["weight_v"].norm(dim=1)).all()


@pytest.mark.parametrize("a", [1e-4, 30.0])
def test_the_length_of_v_changes_no_output_and_divides_its_gradient(a):
    """f(a v) = f(v) for a > 0, grad(a v) = grad(v) / a, and the gradient is orthogonal to v."""
    layer, longer = layer_of(5, 4, 0), layer_of(5, 4, 0)
    longer.weight_v.data.mul_(a)
    x, upstream = drawn((6, 5), 1), drawn((6, 4), 2)
    got, expected = step(longer, x, upstream), step(layer, x, upstream)
    torch.testing.assert_close(got["output"], expected["output"])
    torch.testing.assert_close(got["grad_weight_g"], expected["grad_weight_g"])
    torch.testing.assert_close(got["grad_weight_v"] * a, expected["grad_weight_v"])
    along = (expected["grad_weight_v"] * layer.weight_v).sum(1)
    assert along.abs().max() < 1e-12 * expected["grad_weight_v"].abs().max()


@pytest.mark.parametrize("bias", [True, False])
def test_state_dict_goes_to_and_from_both_weight_norms_of_torch(bias):
    """The older one has the same keys; the parametrization reads them, and writes its own two names for them."""
    layer, x = layer_of(5, 4, 0, bias), drawn((3, 5), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch warns that the older one is old
        older = nn.utils.weight_norm(nn.Linear(5, 4, bias=bias)).double()
    parametrized = weight_norm(nn.Linear(5, 4, bias=bias)).double()
    for theirs in (older, parametrized):
        theirs.load_state_dict(layer.state_dict(), strict=True)
        torch.testing.assert_close(theirs(x), layer(x))
    back = layer_of(5, 4, 1, bias)
    back.load_state_dict(older.state_dict(), strict=True)
    torch.testing.assert_close(back(x), layer(x))
    back = layer_of(5, 4, 2, bias)
    written = parametrized.state_dict()
    names = [name for name in OURS_TO_TORCH if bias or name != "bias"]
    assert set(written) == {OURS_TO_TORCH[name] for name in names}
    back.load_state_dict({name: written[OURS_TO_TORCH[name]] for name in names}, strict=True)
    torch.testing.assert_close(back(x), layer(x))


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize("rows", [(), (3,), (2, 2)])
def test_first_and_second_derivatives_in_float64(check, rows):
    """With respect to x, g, v and bias."""
    layer = layer_of(3, 2, 0)

    def call(x: Tensor, g: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return torch.func.functional_call(layer, {"weight_g": g, "weight_v": v, "bias": bias}, (x,))

    arguments = [drawn((*rows, 3), 0), *(parameter.detach().clone() for parameter in layer.parameters())]
    assert check(call, [value.requires_grad_() for value in arguments])


@pytest.mark.parametrize("frozen", list(itertools.product([True, False], repeat=4))[1:-1])
def test_any_of_the_four_may_be_frozen(frozen):
    """The other gradients do not change when x, g, v or bias wants none."""
    layer, x, upstream = layer_of(5, 4, 0), drawn((6, 5), 1), drawn((6, 4), 2)
    free = step(layer, x, upstream)
    layer.zero_grad()
    of = {"grad_x": x} | {f"grad_{name}": value for name, value in layer.named_parameters()}
    for value, still in zip(of.values(), frozen, strict=True):
        value.requires_grad_(not still)
    layer(x).backward(upstream)
    for (name, value), still in zip(of.items(), frozen, strict=True):
        assert value.grad is None if still else torch.equal(value.grad, free[name])


@quick
@given(sizes, sizes, values.dtypes, st.sampled_from(["contiguous", "swapped", "sliced"]), values.seeds)
def test_backward_by_hand_equals_autograd(inputs, outputs, dtype, layout, seed):
    """From the gradient of W, against autograd through torch's parametrization in float64."""
    layer = layer_of(inputs, outputs, seed).to(dtype)
    theirs = torch_copy(layer)
    upstream = drawn((outputs, inputs), seed, dtype, layout)
    theirs.weight.backward(upstream.double())
    of = theirs.parametrizations.weight
    v = values.laid_out(layer.weight_v.detach(), layout).requires_grad_()
    grad_g, grad_v = weight_norm_backward(upstream, layer.weight_g, v)
    size = (1 + upstream.double().abs().max().item()) * (1 + layer.weight_g.double().abs().max().item())
    size *= 1 + 1 / layer.weight_v.double().norm(dim=1).min().item()
    for value, truth, name in ((grad_g, of.original0.grad, "grad_g"), (grad_v, of.original1.grad, "grad_v")):
        assert not value.requires_grad
        values.assert_close(value, truth, dtype, size, name)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    """Rows of v of length 2400 and of length 2e-4: their squares are outside float16."""
    layer, x = WeightNormLinear(64, 2).to(dtype), drawn((3, 64), 0, dtype)
    layer.weight_v.data.copy_(torch.tensor([[300.0], [2e-5]]).expand(2, 64))
    y, expected = layer(x), torch_copy(layer)(x.double())
    assert y.dtype == dtype
    assert (y.double() - expected).abs().max() <= torch.finfo(dtype).eps * expected.abs().max()


def test_wider_input_than_parameters_keeps_its_dtype():
    """float64 through a float32 layer, and float16 through a float32 layer."""
    for dtype in (torch.float64, torch.float16):
        assert WeightNormLinear(3, 2)(drawn((4, 3), 0, dtype)).dtype == dtype


def test_a_row_of_zeros_has_no_direction():
    """nan in that output alone, as in torch."""
    layer = layer_of(3, 2, 0)
    layer.weight_v.data[0] = 0
    y = layer(drawn((4, 3), 0))
    assert y[:, 0].isnan().all()
    assert y[:, 1].isfinite().all()
    torch.testing.assert_close(y, torch_copy(layer)(drawn((4, 3), 0)), equal_nan=True)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: WeightNormLinear(0, 3), "at least 1 input and 1 output; got 0, 3"),
        (lambda: WeightNormLinear(3, 0), "at least 1 input and 1 output; got 3, 0"),
        (lambda: WeightNormLinear(3, 2)(torch.zeros(4, 2)), "needs 3 values on the last axis; got (4, 2)"),
        (lambda: WeightNormLinear(1, 2)(torch.zeros(4, 2)), "needs 1 values on the last axis"),
        (lambda: WeightNormLinear(1, 2)(torch.tensor(1.0)), "got ()"),
        (lambda: WeightNormLinear(3, 2)(torch.zeros(4, 3, dtype=torch.int64)), "needs a floating dtype"),
        (lambda: weight_norm_backward(torch.zeros(2, 3), torch.ones(2), torch.ones(2, 3)), "(2, 3), (2, 3) and (2,)"),
        (lambda: weight_norm_backward(torch.zeros(3, 2), torch.ones(2, 1), torch.ones(2, 3)), "(3, 2)"),
    ],
)
def test_bad_input_gets_a_sentence(call: Callable[[], object], sentence: str):
    """ValueError, with what was given in it."""
    values.assert_raises(call, sentence)


def test_no_normalization_of_torch_does_the_work():
    """Forward, autograd's backward, and the backward by hand."""
    layer, x, upstream = WeightNormLinear(3, 2), drawn((4, 3), 0, torch.float32), drawn((4, 2), 1, torch.float32)

    def run() -> None:
        step(layer, x, upstream)
        weight_norm_backward(torch.ones(2, 3), layer.weight_g, layer.weight_v)

    values.assert_no_torch_normalization(run)
