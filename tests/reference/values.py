"""Values, layouts and bounds that the tests of the layers without running statistics share; no tests."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from torch import Tensor, nn

quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
dtypes = st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16])
layouts = st.sampled_from(["contiguous", "swapped", "sliced", "channels last", "expanded"])
epsilons = st.sampled_from([1e-5, 1e-3, 0.5])
seeds = st.integers(0, 2**20)


def laid_out(values: Tensor, layout: str) -> Tensor:
    """A tensor equal to `values` with other strides (some are no others when there are few axes)."""
    if layout == "swapped":
        return values.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "sliced":
        return values.repeat_interleave(2, dim=-1)[..., ::2]
    if layout == "channels last":
        return values.movedim(1, -1).contiguous().movedim(-1, 1)
    return values.clone()


def drawn(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float64, layout: str = "contiguous") -> Tensor:
    """Values whose mean and scale move along every axis, so that no two axes can be taken for each other.

    Layout "expanded" gives the same sample again and again, with stride 0 on the first axis.
    """
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    for axis, size in enumerate(shape):
        place = torch.arange(size, dtype=torch.float64).view(-1, *[1] * (len(shape) - 1 - axis))
        values = values * (1 + 0.3 * place) + (1 - 0.7 * axis) * place
    values = (values + 2).to(dtype)
    return values[:1].expand(shape) if layout == "expanded" else laid_out(values, layout)


def randomized(ours: nn.Module, theirs: nn.Module, dtype: torch.dtype, seed: int) -> tuple[nn.Module, nn.Module]:
    """Ours in `dtype` and torch's in float64, with the same random parameters."""
    ours, theirs = ours.to(dtype), theirs.double()
    generator = torch.Generator().manual_seed(seed + 1)
    for mine, truth in zip(ours.parameters(), theirs.parameters(), strict=True):
        values = torch.randn(mine.shape, generator=generator, dtype=torch.float64).to(dtype)
        mine.data.copy_(values)
        truth.data.copy_(values)
    return ours, theirs


def step(layer: nn.Module, x: Tensor, upstream: Tensor) -> dict[str, Tensor]:
    """One call and its gradients, by name."""
    layer.zero_grad()
    x = x.detach().requires_grad_()
    y = layer(x)
    y.backward(upstream)
    return {"output": y.detach(), "grad_x": x.grad} | {
        f"grad_{name}": parameter.grad for name, parameter in layer.named_parameters()
    }


def assert_close(got: Tensor, expected: Tensor, dtype: torch.dtype, noise: float, what: str) -> None:
    """One rounding to `dtype`, and 200 roundings of the arithmetic (float32 or better) in terms as large as `noise`.

    No |x| / s is in it: an honest layer loses nothing where the mean is large beside the standard deviation.
    """
    assert got.shape == expected.shape, what
    assert got.dtype == dtype, what
    inside = torch.finfo(torch.promote_types(dtype, torch.float32)).eps
    torch.testing.assert_close(
        got.double(),
        expected.to(dtype).double(),  # a gradient above the largest float16 is inf there
        rtol=torch.finfo(dtype).eps,
        atol=200 * inside * noise + torch.finfo(dtype).tiny,
        msg=lambda report: f"{what}: {report}",
    )


def noise(x_hat: Tensor, s: Tensor, upstream: Tensor, weight: Tensor | None) -> float:
    """The size of the terms of a gradient before they cancel: upstream weight x_hat^2 / s, each at its largest."""
    weight_size = 1.0 if weight is None else weight.abs().max().item()
    x_hat_size, s_size = x_hat.abs().max().item(), s.min().item()
    return (1 + x_hat_size) ** 2 * (1 + weight_size) * (1 + upstream.abs().max().item()) * (1 + 1 / s_size)


def assert_no_torch_normalization(run: object) -> None:
    """The operators that run(), forward and backward, are sums and products."""
    seen: set[str] = set()

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.add(str(func))
            return func(*args, **(kwargs or {}))

    with Log():
        run()
    assert any("mul" in name for name in seen)
    assert not [name for name in seen if "norm" in name]


def assert_loads_both_ways(make_ours: object, make_theirs: object, x: Tensor) -> None:
    """Names, order, shapes and dtypes of the state are torch's, and a loaded layer behaves as the saved one."""
    ours, theirs = randomized(make_ours(), make_theirs(), torch.float64, 5)
    for source, target in ((ours, make_theirs().double()), (theirs, make_ours().double())):
        target.load_state_dict(source.state_dict(), strict=True)
        torch.testing.assert_close(target(x), source(x))
    for listed in (nn.Module.named_parameters, nn.Module.named_buffers):
        assert [(name, value.shape, value.dtype) for name, value in listed(ours)] == [
            (name, value.shape, value.dtype) for name, value in listed(theirs)
        ]
    fresh, truth = make_ours().state_dict(), make_theirs().state_dict()
    assert list(fresh) == list(truth)
    assert all(torch.equal(fresh[name], truth[name]) for name in fresh), "not torch's values at the start"


def assert_raises(call: object, sentence: str) -> None:
    """ValueError, with this sentence in it."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below, without a pattern
        call()
    assert sentence in str(caught.value)
