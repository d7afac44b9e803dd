"""A module is converted as torch converts it, plain or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from autograder.probe.conversion import convert


class Plain(nn.Module):
    """Parameters and buffers of several kinds, one of each without a tensor."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.1, 1 / 3], dtype=dtype))
        self.frozen = nn.Parameter(torch.tensor(0.7), requires_grad=False)
        self.register_parameter("bias", None)
        self.register_buffer("running_mean", torch.tensor([[0.1, -2.5]], dtype=dtype))
        self.register_buffer("running_var", None)
        self.register_buffer("count", torch.tensor(3))
        self.register_buffer("mask", torch.tensor([True, False]), persistent=False)
        self.plain = torch.tensor(0.1)


class Nested(Plain):
    """A module with another one inside."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Plain()


class Shared(Plain):
    """One parameter under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.again = self.weight


class Complex(Plain):
    """A buffer of complex numbers, which torch converts as well."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("spectrum", torch.tensor([1 + 2j]))


class WithGraph(Plain):
    """A buffer that is the result of arithmetic on a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("doubled", 2 * self.weight)


class Own(nn.Parameter):
    """A parameter of a class of a student's."""


class OwnParameter(Plain):
    """It has one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Own(torch.tensor([0.1, 0.2]))


class OwnTo(Plain):
    """A conversion of its own."""

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Convert, and tell."""
        self.told = args
        return super().to(*args, **kwargs)


class OwnApply(Plain):
    """A tensor that is no buffer, moved as many a student does."""

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        self.plain = fn(self.plain)
        return super()._apply(fn, recurse)


def with_gradients() -> nn.Module:
    """A module that has been used."""
    m = Plain()
    m.weight.sum().backward()
    return m


def shown(m: nn.Module) -> dict[str, object]:
    """All that a student's code could see of a module's tensors."""
    tensors = {**dict(m.named_parameters(remove_duplicate=False)), **dict(m.named_buffers()), "plain": m.plain}
    seen: dict[str, object] = {
        name: (
            type(t),
            t.dtype,
            t.tolist(),
            t.requires_grad,
            t.is_leaf,
            None if not t.is_leaf or t.grad is None else (t.grad.dtype, t.grad.tolist()),
        )
        for name, t in tensors.items()
        if isinstance(t, torch.Tensor)
    }
    return seen | {"keys": list(m.state_dict()), "told": vars(m).get("told")}


MAKERS: list[Callable[[], nn.Module]] = [
    *(Plain, Nested, Shared, Complex, WithGraph, OwnParameter, OwnTo, OwnApply, with_gradients),
    lambda: Plain(torch.float64),
    lambda: Plain(torch.bfloat16),
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.filterwarnings("ignore:Complex modules are a new feature")
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_it_is_what_torch_does(make: Callable[[], nn.Module], dtype: torch.dtype) -> None:
    """Values, dtypes, classes, gradients, graphs, keys."""
    ours, torchs = make(), make()
    parameters = list(ours.parameters())
    convert(ours, dtype)
    torchs.to(dtype)
    assert shown(ours) == shown(torchs)
    assert all(now is before for now, before in zip(ours.parameters(), parameters, strict=True))


def test_a_plain_module_is_not_given_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or this module would be of no use."""
    called: list[object] = []
    monkeypatch.setattr(nn.Module, "to", lambda self, *args: called.append(self))
    convert(Plain(), torch.float64)
    assert not called
    convert(Nested(), torch.float64)
    assert len(called) == 1


class Unfinished(nn.Module):
    """A module whose author forgot `super().__init__()`."""

    def __init__(self) -> None:
        pass


def test_an_unfinished_module_fails_as_with_torch() -> None:
    """The message is the student's to read."""
    messages = []
    for fails in (lambda: convert(Unfinished(), torch.float64), lambda: Unfinished().to(torch.float64)):
        with pytest.raises(Exception) as failure:  # noqa: PT011
            fails()
        messages.append((failure.type, str(failure.value)))
    assert messages[0] == messages[1]
