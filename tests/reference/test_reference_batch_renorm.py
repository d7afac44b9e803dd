"""The reference batch renormalization equals its algorithm, batch norm where it must, and evaluation where it must.

torch has no such layer. The truth is written out once more below in float64, a channel at a time, with r and d taken
as numbers; and at the two ends where the algorithm becomes something known, that is the truth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from solutions.reference.batch_renorm import BatchRenorm1d, batch_renorm_backward, renorm_correction
from tests.reference import values
from tests.reference.values import assert_close, drawn, quick, step

FREE = {"r_max": 1e9, "d_max": 1e9}
PLAIN = {"r_max": 1.0, "d_max": 0.0}

shapes = (
    st.integers(2, 3)
    .flatmap(lambda rank: st.tuples(*[st.integers(1, 5)] * rank))
    .filter(lambda shape: torch.Size(shape).numel() // shape[1] >= 2)
)
limits = st.sampled_from([{}, PLAIN, FREE, {"r_max": 1.2, "d_max": 0.3}, {"r_max": 1.0}, {"d_max": 0.0}])
modes = st.lists(st.sampled_from(["train", "eval", "train without grad"]), min_size=1, max_size=4)


class Written:
    """Algorithm 1 in float64 with Python numbers for r and d, which therefore can have no gradient."""

    def __init__(self, layer: BatchRenorm1d) -> None:
        self.layer = layer
        self.weight, self.bias = (p.detach().double().requires_grad_() for p in (layer.weight, layer.bias))
        self.mu, self.sigma = ([value.item() for value in b.double()] for b in (layer.running_mean, layer.running_std))
        self.smallest_sigma, self.largest_x_hat = math.inf, 0.0

    def __call__(self, x: Tensor, training: bool) -> Tensor:
        layer, columns = self.layer, []
        for c in range(x.shape[1]):
            of_channel = x[:, c]
            if training:
                mu_batch = of_channel.sum() / of_channel.numel()
                variance = ((of_channel - mu_batch) ** 2).sum() / of_channel.numel()
                sigma_batch = torch.sqrt(variance + layer.eps)
                r = min(max(sigma_batch.item() / self.sigma[c], 1 / layer.r_max), layer.r_max)
                d = min(max((mu_batch.item() - self.mu[c]) / self.sigma[c], -layer.d_max), layer.d_max)
                x_hat = (of_channel - mu_batch) / sigma_batch * r + d
                self.mu[c] += layer.momentum * (mu_batch.item() - self.mu[c])
                self.sigma[c] += layer.momentum * (sigma_batch.item() - self.sigma[c])
                self.smallest_sigma = min(self.smallest_sigma, sigma_batch.item() / max(1.0, r))
            else:
                x_hat = (of_channel - self.mu[c]) / self.sigma[c]
            self.smallest_sigma = min(self.smallest_sigma, self.sigma[c])
            self.largest_x_hat = max(self.largest_x_hat, x_hat.abs().max().item())
            columns.append(x_hat * self.weight[c] + self.bias[c])
        return torch.stack(columns, 1)


def randomized(layer: BatchRenorm1d, dtype: torch.dtype, seed: int) -> BatchRenorm1d:
    """Random weights, and running values that are neither those of a new layer nor those of the data."""
    size, generator = layer.num_features, torch.Generator().manual_seed(seed + 1)
    layer = layer.to(dtype)
    for name, value in layer.state_dict().items():
        fresh = torch.randn(size, generator=generator, dtype=torch.float64)
        value.copy_(fresh.abs() + 0.5 if name == "running_std" else fresh)
    return layer


@quick
@given(
    shapes,
    st.sampled_from([torch.float64, torch.float32]),
    values.layouts,
    values.epsilons,
    st.sampled_from([0.0, 0.01, 0.3, 1.0]),
    limits,
    modes,
    values.seeds,
)
def test_equals_algorithm_1_over_shapes_options_and_several_steps(
    shape, dtype, layout, eps, momentum, limit, steps, seed
):
    """Outputs, every gradient and both buffers, step after step, in training and in evaluation."""
    layer = randomized(BatchRenorm1d(shape[1], eps=eps, momentum=momentum, **limit), dtype, seed)
    truth = Written(layer)
    for k, mode in enumerate(steps):
        x, upstream = drawn(shape, seed + 10 * k, dtype, layout), drawn(shape, seed + 10 * k + 5, dtype, layout)
        layer.train(mode != "eval")
        exact = x.double().detach().requires_grad_()
        y = truth(exact, mode != "eval")
        grads = torch.autograd.grad(y, [exact, truth.weight, truth.bias], upstream.double())
        expected = {"output": y.detach()}
        if mode == "train without grad":
            with torch.no_grad():
                got = {"output": layer(x)}
        else:
            got = step(layer, x, upstream)
            expected |= dict(zip(("grad_x", "grad_weight", "grad_bias"), grads, strict=True))
        got |= {"running_mean": layer.running_mean, "running_std": layer.running_std}
        expected |= {
            "running_mean": torch.tensor(truth.mu, dtype=torch.float64),
            "running_std": torch.tensor(truth.sigma, dtype=torch.float64),
        }
        # d subtracts a remembered mean from one that is rounded, so here |x| / sigma does count.
        s = torch.tensor(truth.smallest_sigma)
        noise = values.noise(torch.tensor(truth.largest_x_hat), s, upstream, layer.weight) * (1 + x.abs().max().item())
        for name in expected:
            assert_close(got[name], expected[name], dtype, noise, f"step {k} ({mode}), {name}")


@quick
@given(shapes, values.layouts, values.epsilons, st.sampled_from([0.01, 0.3]), values.seeds)
def test_is_batch_norm_at_r_1_and_d_0(shape, layout, eps, momentum, seed):
    """r_max = 1 and d_max = 0: output and gradients are those of torch's batch norm, whatever was remembered."""
    layer = randomized(BatchRenorm1d(shape[1], eps=eps, momentum=momentum, **PLAIN), torch.float64, seed)
    batch_norm = nn.BatchNorm1d(shape[1], eps=eps, momentum=momentum).double()
    batch_norm.load_state_dict({"weight": layer.weight, "bias": layer.bias}, strict=False)
    x, upstream = drawn(shape, seed, layout=layout), drawn(shape, seed + 1)
    got, expected = step(layer, x, upstream), step(batch_norm, x.contiguous(), upstream)
    assert got.keys() == expected.keys()
    for name in got:
        torch.testing.assert_close(got[name], expected[name], rtol=1e-7, atol=1e-7)


@quick
@given(shapes, values.layouts, values.epsilons, values.seeds)
def test_is_evaluation_where_nothing_is_clipped(shape, layout, eps, seed):
    """Training and evaluation from the same running values: one function, though not one gradient."""
    layer = randomized(BatchRenorm1d(shape[1], eps=eps, momentum=0.0, **FREE), torch.float64, seed)
    x, upstream = drawn(shape, seed, layout=layout), drawn(shape, seed + 1)
    trained, evaluated = step(layer.train(), x, upstream), step(layer.eval(), x, upstream)
    torch.testing.assert_close(trained["output"], evaluated["output"], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(trained["grad_weight"], evaluated["grad_weight"], rtol=1e-9, atol=1e-9)
    # In training each channel's gradient still adds up to 0: mu_B and sigma_B do have a gradient, r and d have none.
    over = [axis for axis in range(len(shape)) if axis != 1]
    assert trained["grad_x"].sum(over).abs().max() < 1e-9 * (1 + trained["grad_x"].abs().max())
    sums = upstream.sum(over) * layer.weight / layer.running_std
    torch.testing.assert_close(evaluated["grad_x"].sum(over), sums.detach(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("scale", "shift", "r", "d"),
    [(2.0, 3.0, 2.0, 3.0), (50.0, 0.0, 3.0, 0.0), (0.01, 0.0, 1 / 3, 0.0), (1.0, 40.0, 1.0, 5.0), (1.0, -40.0, 1.0, -5.0)],
)  # fmt: skip
def test_r_and_d_are_clipped_at_their_limits(scale, shift, r, d):
    """A new layer remembers mean 0 and std 1; the batch has mean `shift` and std `scale`, and is +-1 when normalized."""
    x = torch.tensor([[1.0], [-1.0]]).double() * scale + shift
    layer = BatchRenorm1d(1, eps=0.0).double()
    torch.testing.assert_close(layer(x), torch.tensor([[r + d], [d - r]]).double())


def test_r_and_d_come_from_the_running_values_before_the_update():
    """momentum = 1 forgets everything: after the update r would be 1 and d would be 0."""
    layer = BatchRenorm1d(3, momentum=1.0, eps=0.0, **FREE).double()
    x = drawn((6, 3), 0)
    torch.testing.assert_close(layer(x), x)  # remembered: mean 0, std 1
    mean, std = x.mean(0), x.std(0, correction=0)
    torch.testing.assert_close(layer.running_mean, mean)
    torch.testing.assert_close(layer.running_std, std)
    torch.testing.assert_close(layer(2 * x), (2 * x - mean) / std)


def test_running_std_is_the_biased_one_with_eps_inside():
    """sqrt(biased variance + eps), and evaluation adds no eps a second time."""
    layer = BatchRenorm1d(1, eps=0.5, momentum=0.25).double()
    x = torch.tensor([[1.0], [3.0], [5.0], [7.0]]).double()  # mean 4, biased variance 5
    layer(x)
    assert layer.running_mean.item() == pytest.approx(0.25 * 4)
    assert layer.running_std.item() == pytest.approx(0.75 * 1 + 0.25 * math.sqrt(5.5))
    torch.testing.assert_close(layer.eval()(x), (x - 1.0) / layer.running_std)


def test_the_limits_may_be_moved_between_calls():
    """The paper starts with r_max = 1 and d_max = 0, which is batch norm, and lets go slowly."""
    layer = BatchRenorm1d(3, momentum=0.0, **PLAIN).double()
    x = drawn((6, 3), 0)
    first = layer(x)
    layer.r_max, layer.d_max = 1e9, 1e9
    torch.testing.assert_close(first.mean(0), torch.zeros(3, dtype=torch.float64))
    torch.testing.assert_close(layer(x), x)


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize("mode", ["batch norm", "clipped on both sides", "evaluation"])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 2)])
def test_first_and_second_derivatives_in_float64(check, mode, shape):
    """With respect to x, weight and bias, wherever r and d are constants for finite differences too."""
    limit = {"r_max": 1.01, "d_max": 0.01} if mode == "clipped on both sides" else PLAIN
    layer = BatchRenorm1d(3, momentum=0.0, **limit).double().train(mode != "evaluation")
    layer.running_mean.copy_(torch.tensor([90.0, -90.0, 90.0]))
    layer.running_std.copy_(torch.tensor([0.05, 70.0, 0.05]))

    def call(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    arguments = [drawn(shape, 0), drawn((3,), 1), drawn((3,), 2)]
    assert check(call, [value.requires_grad_() for value in arguments])


def test_r_and_d_carry_no_gradient():
    """If they did, nothing would be left of mu_B and sigma_B in an unclipped step, and grad_x would be g / sigma."""
    layer = randomized(BatchRenorm1d(3, momentum=0.0, **FREE), torch.float64, 0)
    x, upstream = drawn((6, 3), 0), drawn((6, 3), 1)
    through = upstream * layer.weight.detach() / layer.running_std
    assert (step(layer, x, upstream)["grad_x"] - through).abs().max() > 0.1
    leaves = [drawn((3,), k).abs().requires_grad_() for k in range(4)]
    assert not any(value.requires_grad for value in renorm_correction(*leaves, 3.0, 5.0))


@quick
@given(
    st.integers(2, 7),
    st.integers(1, 5),
    values.epsilons,
    values.dtypes,
    st.sampled_from(["contiguous", "swapped", "sliced"]),
    values.seeds,
)
def test_backward_by_hand_equals_autograd(n, c, eps, dtype, layout, seed):
    """With any r and d, against autograd in float64 through the formula."""
    x, upstream = drawn((n, c), seed, dtype, layout), drawn((n, c), seed + 1, dtype, layout)
    weight, r, d = (drawn((c,), seed + k, dtype) for k in (2, 3, 4))
    exact = [value.double().requires_grad_() for value in (x, weight, torch.zeros(c))]
    sigma = (exact[0].var(0, correction=0) + eps).sqrt()
    z = (exact[0] - exact[0].mean(0)) / sigma
    y = (z * r.double() + d.double()) * exact[1] + exact[2]
    expected = torch.autograd.grad(y, exact, upstream.double())
    got = batch_renorm_backward(upstream, x, weight.requires_grad_(), r, d, eps)
    size = values.noise(z.detach(), sigma.detach(), upstream, weight)
    size *= 1 + r.abs().max().item() + d.abs().max().item()
    for value, truth, name in zip(got, expected, ("grad_x", "grad_weight", "grad_bias"), strict=True):
        assert not value.requires_grad
        assert_close(value, truth, dtype, size, name)


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4)])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("frozen", list(itertools.product([True, False], repeat=3))[1:-1])
def test_any_of_the_three_may_be_frozen(shape, training, frozen):
    """The other gradients do not change when x, weight or bias wants none."""
    layer = randomized(BatchRenorm1d(3, momentum=0.0), torch.float64, 0).train(training)
    x, upstream = drawn(shape, 2), drawn(shape, 3)
    free = step(layer, x, upstream)
    layer.zero_grad()
    for value, still in zip((x, layer.weight, layer.bias), frozen, strict=True):
        value.requires_grad_(not still)
    layer(x).backward(upstream)
    for value, name, still in zip((x, layer.weight, layer.bias), ("x", "weight", "bias"), frozen, strict=True):
        assert value.grad is None if still else torch.equal(value.grad, free[f"grad_{name}"])


def test_names_shapes_and_starting_values():
    """What the contract says, in its order, and nothing that it does not name."""
    layer = BatchRenorm1d(3)
    assert [(name, value.tolist()) for name, value in layer.named_parameters()] == [
        ("weight", [1] * 3),
        ("bias", [0] * 3),
    ]
    assert [(name, value.tolist()) for name, value in layer.named_buffers()] == [
        ("running_mean", [0] * 3),
        ("running_std", [1] * 3),
    ]
    assert (layer.eps, layer.momentum, layer.r_max, layer.d_max) == (1e-5, 0.01, 3.0, 5.0)
    trained = randomized(BatchRenorm1d(3), torch.float32, 0)
    layer.load_state_dict(trained.state_dict(), strict=True)
    x = drawn((4, 3), 0, torch.float32)
    assert torch.equal(layer.eval()(x), trained.eval()(x))


def test_buffers_stay_the_same_objects_and_hold_no_graph():
    """Two steps with a backward between, and a reference taken before sees the update."""
    layer = BatchRenorm1d(3)
    held = dict(layer.named_buffers())
    for k in range(2):
        before = {name: value.clone() for name, value in held.items()}
        layer(drawn((4, 3), k, torch.float32).requires_grad_()).square().sum().backward()
        assert all(not torch.equal(before[name], value) for name, value in held.items())
    for name, buffer in layer.named_buffers():
        assert buffer is held[name]
        assert buffer.grad_fn is None
        assert not buffer.requires_grad


@pytest.mark.parametrize("first", ["train", "eval"])
def test_a_later_training_call_does_not_disturb_an_earlier_graph(first):
    """Call, train, then go back through the first call: as if the second had not been."""
    x, upstream = drawn((6, 3), 0).requires_grad_(), drawn((6, 3), 1)
    gradients = []
    for disturbed in (False, True):
        layer = randomized(BatchRenorm1d(3, momentum=0.5), torch.float64, 0)
        y = layer.train(first == "train")(x)
        if disturbed:
            layer.train()(drawn((6, 3), 2) * 4)
        gradients.append(torch.autograd.grad(y, [x, layer.weight], upstream))
    for alone, followed in zip(*gradients, strict=True):
        assert torch.equal(alone, followed)


def test_evaluation_gives_one_row_what_the_batch_gives_it():
    """A row alone and a row among others: the same bits, and no buffer moves."""
    layer = randomized(BatchRenorm1d(3), torch.float64, 0).eval()
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    x = drawn((6, 3), 1)
    assert torch.equal(layer(x)[2:3], layer(x[2:3]))
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("parameters", ["float32", "half"])
@pytest.mark.parametrize("training", [True, False])
def test_half_precision_is_computed_in_float32(dtype, parameters, training):
    """Std 300 squared is above the largest float16; the error is one rounding of the output."""
    x = (300 * torch.randn(64, 3, generator=torch.Generator().manual_seed(0))).to(dtype)
    layer, truth = BatchRenorm1d(3).train(training), BatchRenorm1d(3).double().train(training)
    y = (layer.to(dtype) if parameters == "half" else layer)(x)
    expected = truth(x.double())
    assert y.dtype == dtype
    assert layer.running_std.dtype == (dtype if parameters == "half" else torch.float32)
    assert (y.double() - expected).abs().max() <= torch.finfo(dtype).eps * expected.abs().max()
    if parameters == "float32":
        torch.testing.assert_close(layer.running_std.double(), truth.running_std, rtol=1e-6, atol=0)


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_float32_is_as_accurate_far_from_zero_as_near_it(offset):
    """Output and gradients, as far as d lets them: it is clipped here, and so is exact."""
    generator = torch.Generator().manual_seed(0)
    x = (offset + torch.randn(256, 4, generator=generator, dtype=torch.float64)).float()
    upstream = torch.randn(256, 4, generator=generator)
    got, expected = step(BatchRenorm1d(4), x, upstream), step(BatchRenorm1d(4).double(), x.double(), upstream.double())
    spread = (x.double().var(0, correction=0) + 1e-5).sqrt()
    by_hand = (x.double() - x.double().mean(0)) / spread * spread.clamp(1 / 3, 3) + 5
    torch.testing.assert_close(expected["output"], by_hand, rtol=1e-9, atol=1e-9)
    for name in got:
        error = (got[name].double() - expected[name]).abs().max() / expected[name].abs().max()
        assert error < 3e-6, (name, float(error))


def test_equal_values_come_out_as_the_bias_and_d():
    """A rounded mean must not become a spread."""
    assert (BatchRenorm1d(2)(torch.full((7, 2), 1.2345e7)) - 5).abs().max() < 1e-3


def test_the_input_is_not_changed():
    """Also in float32 and float64, where widening copies nothing."""
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = drawn((4, 3), 0, dtype)
        kept, one = x.clone(), torch.ones(3, dtype=dtype)
        for training in (True, False):
            BatchRenorm1d(3).to(dtype).train(training)(x)
        batch_renorm_backward(x, x, one, one, one)
        assert torch.equal(x, kept)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: BatchRenorm1d(3, r_max=0.5), "r_max >= 1 and d_max >= 0; got r_max=0.5"),
        (lambda: BatchRenorm1d(3, d_max=-1.0), "d_max=-1.0"),
        (lambda: BatchRenorm1d(3)(torch.zeros(1, 3)), "at least two values per channel"),
        (lambda: BatchRenorm1d(3)(torch.zeros(1, 3, 1)), "at least two values per channel"),
        (lambda: BatchRenorm1d(3)(torch.zeros(0, 3)), "at least two values per channel"),
        (lambda: BatchRenorm1d(3)(torch.zeros(4, 2)), "needs 3 channels on axis 1; got shape (4, 2)"),
        (lambda: BatchRenorm1d(3).eval()(torch.zeros(4, 1)), "needs 3 channels on axis 1"),
        (lambda: BatchRenorm1d(3)(torch.zeros(3)), "takes (N, C) or (N, C, L); got shape (3,)"),
        (lambda: BatchRenorm1d(3)(torch.zeros(2, 3, 4, 4)), "takes (N, C) or (N, C, L)"),
        (lambda: BatchRenorm1d(3)(torch.zeros(4, 3, dtype=torch.int64)), "needs a floating dtype"),
        (lambda: batch_renorm_backward(torch.zeros(1, 3), torch.zeros(1, 3), *[torch.ones(3)] * 3), "N >= 2"),
        (lambda: batch_renorm_backward(torch.zeros(4, 2), torch.zeros(4, 3), *[torch.ones(3)] * 3), "(4, 2)"),
        (lambda: batch_renorm_backward(*[torch.zeros(4, 3)] * 2, *[torch.ones(3)] * 2, torch.ones(1)), "(1,), (3,)"),
    ],
)
def test_bad_input_gets_a_sentence(call: Callable[[], object], sentence: str):
    """ValueError, with what was given in it."""
    values.assert_raises(call, sentence)


def test_a_refused_batch_leaves_the_buffers_alone_and_evaluation_needs_no_batch():
    """An error half way through must not count as a batch."""
    layer = BatchRenorm1d(3)
    values.assert_raises(lambda: layer(torch.ones(1, 3)), "two values")
    assert torch.equal(layer.running_mean, torch.zeros(3))
    assert torch.equal(layer.running_std, torch.ones(3))
    assert layer.eval()(torch.ones(1, 3)).shape == (1, 3)
    assert layer.train()(torch.ones(1, 3, 2)).shape == (1, 3, 2)


def test_no_normalization_of_torch_does_the_work():
    """Forward in both modes, autograd's backward, and the backward by hand."""
    x, upstream = drawn((4, 3), 0, torch.float32), drawn((4, 3), 1, torch.float32)

    def run() -> None:
        for training in (True, False):
            step(BatchRenorm1d(3).train(training), x, upstream)
        batch_renorm_backward(upstream, x, *[torch.ones(3)] * 3)

    values.assert_no_torch_normalization(run)
