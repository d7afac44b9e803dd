"""The backward pass from a gradient that is given, as `Tensor.backward` runs it, without the wait for sympy.

torch imports sympy, a third of a second and 40 MB, to compare two shapes that may be symbols. The probe's are not; where they
differ, torch's words are said here. Where anything else is out of the ordinary, torch's own way is taken, whose message is what the
student sees.
"""

from __future__ import annotations

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

_engine = getattr(torch.autograd.graph, "_engine_run_backward", None)  # torch's own name for it, which may go


def backward(y: torch.Tensor, grad: torch.Tensor) -> None:
    """Do what `y.backward(grad)` does."""
    plain = type(y) is torch.Tensor and type(grad) is torch.Tensor and y.layout == grad.layout == torch.strided
    # Of whatever width: the engine converts.
    plain = plain and y.dtype.is_floating_point and grad.dtype.is_floating_point and not (y.is_nested or grad.is_nested)
    if _engine is None or not plain:
        y.backward(grad)  # type: ignore[no-untyped-call]
    elif has_torch_function_unary(y):  # who listens to functions does not hear those inside of a backward pass
        handle_torch_function(backward, (y,), y, grad)
    elif y.shape != grad.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {grad.shape} and output[0] has a shape of {y.shape}."
        )
    else:
        _engine((y,), (grad,), False, False, (), allow_unreachable=True, accumulate_grad=True)
