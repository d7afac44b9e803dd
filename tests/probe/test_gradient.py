"""A backward pass from a given gradient does what torch's own does, and says what torch says where it cannot be done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from autograder.probe import gradient
from autograder.probe.oplog import OperatorLog, listening


class Subclass(torch.Tensor):
    """A tensor of a student's own kind."""


class Doubles(torch.autograd.Function):
    """A backward pass of a student's, which normalizes with torch's own function and changes its gradient in place."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return something else."""
        grad.mul_(2)
        return torch.nn.functional.layer_norm(grad, grad.shape[-1:])


X = torch.arange(6.0).reshape(2, 3)
WAYS = {
    "plain": lambda x: x * x,
    "not contiguous": lambda x: (x * x).t().contiguous().t(),
    "a function of one's own": Doubles.apply,
    "a subclass": lambda x: (x * x).as_subclass(Subclass),
    "another dtype": lambda x: (x * x).double(),
    "complex": lambda x: torch.complex(x, x),
    "another shape": lambda x: x.sum(0),
    "another number of axes": lambda x: (x * x)[None],
    "another shape and a subclass": lambda x: x.sum(0).as_subclass(Subclass),
    "another shape without a gradient": lambda x: x.detach().sum(0),
    "nested": lambda x: torch.nested.nested_tensor([x[0], x[1]]),
    "no gradient": lambda x: x.detach() * 1,
    "not one": lambda x: x.new_zeros(0, 3) * x[:0],
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_it_is_torchs_own(way: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Bit by bit: the gradient, what is left of the one that was given, the operators heard, or the error."""

    def outcome(run: Callable[[torch.Tensor, torch.Tensor], None]) -> tuple[Any, ...]:
        x = X.clone().requires_grad_()
        given, log = torch.linspace(-1, 1, 6).reshape(2, 3), OperatorLog()
        try:
            with listening(log):
                run(way(x), given)
        except Exception as error:
            return type(error), str(error)
        grad = None if x.grad is None else x.grad.tolist()
        return grad, given.tolist(), tuple(log.operators)

    assert outcome(gradient.backward) == outcome(lambda y, grad: y.backward(grad))


def test_who_listens_to_functions_hears_the_same_of_both() -> None:
    """One function, and nothing of what runs inside of it."""

    class Heard(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    heard = []
    for run in (gradient.backward, lambda y, grad: y.backward(grad)):
        y = Doubles.apply(X.clone().requires_grad_())
        grad = torch.ones(2, 3)
        with Heard() as mode:
            run(y, grad)
        heard.append([name for name in mode.names if not name.startswith("__")])
    assert heard == [["backward"], ["backward"]]


def test_a_shape_that_is_wrong_is_told_without_sympy() -> None:
    """Many a mistake ends there, and each kernel would import it anew."""
    told = "".join(
        (
            "import sys, torch; from autograder.probe.gradient import backward\n",
            "try: backward(torch.ones(2, 3, requires_grad=True) * 2, torch.ones(2))\n",
            "except RuntimeError as error: print(error)\n",
            "print('sympy' in sys.modules)",
        )
    )
    said = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.splitlines()[0].startswith("Mismatch in shape: grad_output[0] has a shape of torch.Size([2])")
    assert said.splitlines()[-1] == "False"


def test_a_torch_without_the_short_way_goes_the_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no promise of torch's that it is there."""
    monkeypatch.setattr(gradient, "_engine", None)
    x = X.clone().requires_grad_()
    gradient.backward(x * 2, torch.ones(2, 3))
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0] * 3] * 2
