"""The reference batch norm equals torch.nn wherever torch.nn can be trusted, and is right where it cannot.

torch's layers get contiguous float64 copies, whatever the layout and the dtype given to the
reference: on the CPU torch's own gradients were seen to be wrong for strided inputs
(test_torch_is_not_the_truth_for_every_layout).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from solutions.reference.batch_norm import BatchNorm1d, BatchNorm2d, batch_norm_backward

LAYERS = {2: (BatchNorm1d, nn.BatchNorm1d), 3: (BatchNorm1d, nn.BatchNorm1d), 4: (BatchNorm2d, nn.BatchNorm2d)}
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

shapes = (
    st.integers(2, 4)
    .flatmap(lambda rank: st.tuples(*[st.integers(1, 5)] * rank))
    .filter(lambda shape: torch.Size(shape).numel() // shape[1] >= 2)
)
layouts = st.sampled_from(["contiguous", "swapped", "sliced", "channels last", "expanded"])
options = st.fixed_dictionaries(
    {
        "eps": st.sampled_from([1e-5, 1e-3, 0.5]),
        "momentum": st.sampled_from([None, 0.0, 0.1, 0.37, 1.0]),
        "affine": st.booleans(),
        "track_running_stats": st.booleans(),
    }
)
modes = st.lists(st.sampled_from(["train", "eval", "train without grad"]), min_size=1, max_size=4)


def laid_out(values: Tensor, layout: str) -> Tensor:
    """A tensor equal to `values` with other strides."""
    if layout == "swapped":
        return values.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "sliced":
        return values.repeat_interleave(2, dim=-1)[..., ::2]
    if layout == "channels last":
        return values.movedim(1, -1).contiguous().movedim(-1, 1)
    return values.clone()


def drawn(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Values with another mean and another scale in every channel: mean 3 c - 2, std 1 + c."""
    generator = torch.Generator().manual_seed(seed)
    channel = torch.arange(shape[1], dtype=torch.float64).view(-1, *[1] * (len(shape) - 2))
    values = torch.randn(shape, generator=generator, dtype=torch.float64) * (1 + channel) + 3 * channel - 2
    return values.to(dtype)


def pair(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0, **arguments: object) -> tuple[nn.Module, nn.Module]:
    """The reference in `dtype` and torch's layer in float64, with the same random weights."""
    ours, theirs = (layer(shape[1], **arguments) for layer in LAYERS[len(shape)])
    ours, theirs = ours.to(dtype), theirs.double()
    generator = torch.Generator().manual_seed(seed + 1)
    for mine, truth in zip(ours.parameters(), theirs.parameters(), strict=True):
        values = torch.randn(shape[1], generator=generator, dtype=torch.float64).to(dtype)
        mine.data.copy_(values)
        truth.data.copy_(values)
    return ours, theirs


def rounding(x: Tensor, upstream: Tensor, layer: nn.Module) -> float:
    """How far honest arithmetic in x's dtype may be from the truth: 50 roundings of the largest term.

    The terms are upstream * weight / s before they cancel, and x / s is what a rounding of x is worth.
    """
    over = [axis for axis in range(x.dim()) if axis != 1]
    s = (x.double().var(over, correction=0) + layer.eps).sqrt().min().item()
    weight = 1.0 if layer.weight is None else layer.weight.abs().max().item()
    term = (1 + x.abs().max().item() / s) * (1 + weight) * (1 + upstream.abs().max().item()) * (1 + 1 / s)
    return 50 * torch.finfo(x.dtype).eps * term


def assert_close(got: Tensor, expected: Tensor, dtype: torch.dtype, bound: float, what: str) -> None:
    assert got.shape == expected.shape, what
    assert got.dtype == (dtype if expected.is_floating_point() else expected.dtype), what
    torch.testing.assert_close(
        got.to(expected.dtype), expected, rtol=0, atol=bound, msg=lambda report: f"{what}: {report}"
    )


def step(layer: nn.Module, x: Tensor, upstream: Tensor, mode: str) -> dict[str, Tensor]:
    """One call, and its gradients where they are wanted."""
    layer.train(mode != "eval")
    layer.zero_grad()
    if mode == "train without grad":
        with torch.no_grad():
            return {"output": layer(x)}
    x = x.detach().requires_grad_()
    y = layer(x)
    y.backward(upstream)
    return {"output": y.detach(), "grad_x": x.grad} | {
        f"grad_{name}": parameter.grad for name, parameter in layer.named_parameters()
    }


@quick
@given(shapes, st.sampled_from([torch.float64, torch.float32]), layouts, options, modes, st.integers(0, 2**20))
def test_equals_torch_over_shapes_options_layouts_and_several_steps(shape, dtype, layout, arguments, steps, seed):
    """Outputs, every gradient and every buffer, step after step, in training and in evaluation."""
    ours, theirs = pair(shape, dtype, seed, **arguments)
    bound = 0.0
    for k, mode in enumerate(steps):
        x = drawn(shape, seed + 10 * k, dtype)
        upstream = drawn(shape, seed + 10 * k + 5, dtype)
        if layout == "expanded":  # stride 0 along the last axis
            x = x[..., :1].expand(shape) if shape[0] > 1 and len(shape) > 2 else x
        got = step(ours, laid_out(x, layout) if layout != "expanded" else x, laid_out(upstream, layout), mode)
        expected = step(theirs, x.double().contiguous(), upstream.double().contiguous(), mode)
        assert got.keys() == expected.keys()
        bound = max(bound, rounding(x, upstream, theirs))  # a buffer remembers earlier steps
        for name in got:
            assert_close(got[name], expected[name], dtype, bound, f"step {k} ({mode}), {name}")
        state, truth = ours.state_dict(), theirs.state_dict()
        assert list(state) == list(truth)
        for name in state:
            assert_close(state[name], truth[name], dtype, bound, f"after step {k} ({mode}), {name}")


def test_torch_is_not_the_truth_for_every_layout():
    """Why torch gets contiguous copies above: its grad_x depends on the strides, the reference's does not.

    Should torch be repaired, this test fails and the copies may go.
    """
    shape, strides = (3, 2, 1, 4), (8, 1, 2, 2)
    memory = drawn((24, 1), 0).flatten()
    upstream = drawn(shape, 1)
    grads: dict[str, Tensor] = {}
    for name, layer in {"ours": BatchNorm2d(2).double(), "theirs": nn.BatchNorm2d(2).double()}.items():
        for layout in ("strided", "contiguous"):
            x = memory.as_strided(shape, strides)
            x = x.contiguous() if layout == "contiguous" else x
            grads[f"{name} {layout}"] = step(layer, x, upstream, "train")["grad_x"]
    torch.testing.assert_close(grads["ours contiguous"], grads["theirs contiguous"])
    torch.testing.assert_close(grads["ours strided"], grads["ours contiguous"])
    assert (grads["theirs strided"] - grads["theirs contiguous"]).abs().max() > 0.01


@pytest.mark.parametrize(("affine", "track"), list(itertools.product([True, False], repeat=2)))
@pytest.mark.parametrize("rank", [2, 4])
def test_state_dict_loads_both_ways_strictly(rank, affine, track):
    """Names, shapes and dtypes are torch's, and the loaded layer behaves as the saved one."""
    shape = (4, 3, 2, 5)[:rank]
    ours, theirs = pair(shape, torch.float64, affine=affine, track_running_stats=track)
    for source, target in (
        (ours, pair(shape, torch.float64, 7, affine=affine, track_running_stats=track)[1]),
        (theirs, pair(shape, torch.float64, 8, affine=affine, track_running_stats=track)[0]),
    ):
        source.train()(drawn(shape, 3))
        target.load_state_dict(source.state_dict(), strict=True)
        x = drawn(shape, 4)
        torch.testing.assert_close(target.eval()(x), source.eval()(x))
    for listed in (nn.Module.named_parameters, nn.Module.named_buffers):
        assert [(name, value.shape, value.dtype) for name, value in listed(ours)] == [
            (name, value.shape, value.dtype) for name, value in listed(theirs)
        ]


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 2), (2, 2, 2, 2)])
def test_first_and_second_derivatives_in_float64(check, training, shape):
    """With respect to x, weight and bias, in both modes."""
    layer = LAYERS[len(shape)][0](shape[1], eps=1e-2, momentum=0.0).double().train(training)

    def call(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    inputs = [drawn(shape, 0), drawn((1, shape[1]), 1)[0], drawn((1, shape[1]), 2)[0]]
    assert check(call, [value.requires_grad_() for value in inputs])


@pytest.mark.parametrize("frozen", list(itertools.product([True, False], repeat=3))[1:-1])
def test_any_of_the_three_may_be_frozen(frozen):
    """The other gradients do not change when x, weight or bias wants none."""
    ours, theirs = pair((5, 3), torch.float64)
    grads = []
    for layer in (ours, theirs):
        x = drawn((5, 3), 2)
        for value, still in zip((x, layer.weight, layer.bias), frozen, strict=True):
            value.requires_grad_(not still)
        layer(x).backward(drawn((5, 3), 3))
        grads.append([x.grad, layer.weight.grad, layer.bias.grad])
    for mine, truth, still in zip(*grads, frozen, strict=True):
        assert (mine is None) == (truth is None) == still
        if not still:
            torch.testing.assert_close(mine, truth)


def test_a_later_training_call_does_not_disturb_an_earlier_evaluation_graph():
    """evaluate, train, then go back through the first: torch's layer gives a wrong gradient without an error."""
    gradients = {}
    for name, layer in {"ours": BatchNorm1d(3).double(), "theirs": nn.BatchNorm1d(3).double()}.items():
        x = drawn((6, 3), 0).requires_grad_()
        y = layer.eval()(x)
        layer.train()(drawn((6, 3), 1) * 4)
        (gradients[name],) = torch.autograd.grad(y.sum(), x)
    expected = torch.full((6, 3), 1 / (1 + 1e-5) ** 0.5, dtype=torch.float64)  # running_var was 1
    torch.testing.assert_close(gradients["ours"], expected)
    assert (gradients["theirs"] - expected).abs().max() > 0.1


def test_buffers_stay_the_same_objects_and_hold_no_graph():
    """Two steps with a backward between, and a reference taken before sees the update."""
    layer = BatchNorm1d(3)
    held = dict(layer.named_buffers())
    for k in range(2):
        x = drawn((4, 3), k, torch.float32).requires_grad_()
        layer(x).square().sum().backward()
    for name, buffer in layer.named_buffers():
        assert buffer is held[name]
        assert buffer.grad_fn is None
        assert not buffer.requires_grad
    assert int(held["num_batches_tracked"]) == 2


def test_evaluation_gives_one_row_what_the_batch_gives_it():
    """A row alone and a row among others: the same bits, and no buffer moves."""
    layer = BatchNorm1d(3).double()
    layer(drawn((6, 3), 0))
    layer.eval()
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    x = drawn((6, 3), 1)
    assert torch.equal(layer(x)[2:3], layer(x[2:3]))
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("parameters", ["float32", "half"])
def test_half_precision_is_computed_in_float32(dtype, parameters):
    """Std 300 squared is above the largest float16; the error is one rounding of the output."""
    layer = BatchNorm2d(3)
    layer = layer.to(dtype) if parameters == "half" else layer
    truth = nn.BatchNorm2d(3).double()
    x = (drawn((4, 3, 5, 5), 0) * 300 / 3).to(dtype)
    y = layer(x)
    expected = truth(x.double())
    assert y.dtype == dtype
    assert layer.running_mean.dtype == (dtype if parameters == "half" else torch.float32)
    assert (y.double() - expected).abs().max() <= torch.finfo(dtype).eps * expected.abs().max()
    if parameters == "float32":
        torch.testing.assert_close(layer.running_var.double(), truth.running_var, rtol=1e-5, atol=0)


def test_float32_is_accurate_when_the_mean_is_ten_thousand_times_the_std():
    """Mean 1e3 and std 0.1: the short formula E[x^2] - E[x]^2 fails here altogether."""
    x = (1e3 + 0.1 * torch.randn(256, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).float()
    upstream = torch.randn(256, 4, generator=torch.Generator().manual_seed(1))
    ours, truth = BatchNorm1d(4), nn.BatchNorm1d(4).double()
    got, expected = step(ours, x, upstream, "train"), step(truth, x.double(), upstream.double(), "train")
    for name in got:
        error = (got[name].double() - expected[name]).abs().max() / expected[name].abs().max()
        assert error < 2e-3, (name, float(error))
    torch.testing.assert_close(ours.running_var.double(), truth.running_var, rtol=1e-5, atol=0)
    naive = x.square().mean(0) - x.mean(0).square()
    assert ((naive.double() - x.double().var(0, correction=0)).abs() / 0.01).max() > 0.5


def test_the_input_is_not_changed():
    """Also in float32 and float64, where widening copies nothing."""
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = drawn((4, 3), 0, dtype)
        kept = x.clone()
        BatchNorm1d(3).to(dtype)(x)
        batch_norm_backward(x, x, torch.ones(3, dtype=dtype))
        assert torch.equal(x, kept)


def one_value() -> Tensor:
    return torch.zeros(1, 3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: BatchNorm1d(3)(one_value()), "at least two values per channel"),
        (lambda: BatchNorm1d(3)(torch.zeros(1, 3, 1)), "at least two values per channel"),
        (lambda: BatchNorm1d(3)(torch.zeros(0, 3)), "at least two values per channel"),
        (lambda: BatchNorm2d(3)(torch.zeros(1, 3, 1, 1)), "at least two values per channel"),
        (lambda: BatchNorm1d(3, track_running_stats=False).eval()(one_value()), "at least two values per channel"),
        (lambda: BatchNorm1d(3)(torch.zeros(4, 2)), "needs 3 channels on axis 1"),
        (
            lambda: BatchNorm1d(3, affine=False, track_running_stats=False)(torch.zeros(4, 2)),
            "needs 3 channels on axis 1",
        ),
        (lambda: BatchNorm1d(3).eval()(torch.zeros(4, 1)), "needs 3 channels on axis 1"),
        (lambda: BatchNorm1d(3)(torch.zeros(3)), "takes (N, C) or (N, C, L)"),
        (lambda: BatchNorm1d(3)(torch.zeros(2, 3, 4, 4)), "takes (N, C) or (N, C, L)"),
        (lambda: BatchNorm2d(3)(torch.zeros(2, 3, 4)), "takes (N, C, H, W)"),
        (lambda: BatchNorm2d(3).eval()(torch.zeros(2, 4, 2, 2)), "needs 3 channels on axis 1"),
        (lambda: BatchNorm1d(3)(torch.zeros(4, 3, dtype=torch.int64)), "needs a floating dtype"),
        (lambda: batch_norm_backward(torch.zeros(1, 3), torch.zeros(1, 3), torch.ones(3)), "N >= 2"),
        (lambda: batch_norm_backward(torch.zeros(4, 2), torch.zeros(4, 3), torch.ones(3)), "(4, 2)"),
    ],
)
def test_bad_input_gets_a_sentence(call: Callable[[], Tensor], sentence: str):
    """ValueError, with what was given in it."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


def test_a_refused_batch_leaves_the_buffers_alone():
    """An error half way through must not count as a batch."""
    layer = BatchNorm1d(3)
    with pytest.raises(ValueError, match="two values"):
        layer(one_value())
    assert int(layer.num_batches_tracked) == 0
    assert torch.equal(layer.running_mean, torch.zeros(3))


def test_one_sample_with_space_is_enough_and_evaluation_needs_none():
    """The rule is N * H * W > 1, not N > 1."""
    assert BatchNorm2d(3)(torch.zeros(1, 3, 2, 1)).shape == (1, 3, 2, 1)
    assert BatchNorm1d(3)(torch.zeros(1, 3, 2)).shape == (1, 3, 2)
    assert BatchNorm1d(3).eval()(one_value()).shape == (1, 3)


@quick
@given(
    st.integers(2, 7),
    st.integers(1, 5),
    st.sampled_from([1e-5, 0.5]),
    st.sampled_from([torch.float64, torch.float32]),
    st.sampled_from(["contiguous", "swapped", "sliced"]),
    st.integers(0, 2**20),
)
def test_backward_by_hand_equals_autograd(n, c, eps, dtype, layout, seed):
    """grad_x, grad_weight and grad_bias against torch's autograd through torch's layer, in float64."""
    _, truth = pair((n, c), dtype, seed, eps=eps)
    x, upstream = drawn((n, c), seed, dtype), drawn((n, c), seed + 1, dtype)
    expected = step(truth, x.double(), upstream.double(), "train")
    got = batch_norm_backward(laid_out(upstream, layout), laid_out(x, layout), truth.weight.detach().to(dtype), eps)
    for value, name in zip(got, ("grad_x", "grad_weight", "grad_bias"), strict=True):
        assert not value.requires_grad
        assert_close(value, expected[name], dtype, rounding(x, upstream, truth), name)


def test_no_normalization_of_torch_does_the_work():
    """The operators that ran, forward and backward, are sums and products."""
    seen: set[str] = set()

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.add(str(func))
            return func(*args, **(kwargs or {}))

    with Log():
        step(BatchNorm2d(3), drawn((2, 3, 2, 2), 0, torch.float32), drawn((2, 3, 2, 2), 1, torch.float32), "train")
        batch_norm_backward(drawn((4, 3), 0), drawn((4, 3), 1), torch.ones(3))
    assert any("mean" in name for name in seen)
    assert not [name for name in seen if "norm" in name]
