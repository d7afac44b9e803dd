"""Weight normalization, written to be read: a linear layer whose rows have a learned length.

This file is the truth that the course compares with. It is not fast, and it calls no
normalization of torch. It normalizes no activations: each row of the weight, the vector
that makes one output, is written as a length times a direction, and both are learned:

    w_i = g_i v_i / ||v_i||,   ||v_i|| = sqrt(sum_j v_ij^2),   y = x W^T + b

    weight_g  (out, 1)    the length g_i of each row (it may be negative)
    weight_v  (out, in)   the row v_i, of which only the direction counts
    bias      (out,)      None with bias=False

Names. The two parameters are called as in torch.nn.utils.weight_norm(nn.Linear(...)), and
the state dictionaries are the same. torch.nn.utils.parametrizations.weight_norm holds
the same tensors: parametrizations.weight.original0 is weight_g, original1 is weight_v.
It loads this layer's dictionary as it is; the other way the two keys are renamed.

What the contract leaves open is decided here:

* The start: v and the bias are drawn as nn.Linear draws them, uniformly between plus and
  minus 1 / sqrt(in), and g_i = ||v_i||, so W = v and the layer starts as a plain linear
  layer. The paper's start from a batch of data (its section 3) is not part of the layer.
* There is no eps, as in the paper and in torch: a row v_i = 0 has no direction, and its
  output is nan. forward reads v and never writes it.
* Norms and products are taken in float32 or better; the output has the dtype of x.
* Another last axis than in_features, a scalar x, a dtype that is not floating, and
  in_features or out_features < 1 raise ValueError.

Source: T. Salimans and D. P. Kingma, "Weight Normalization: A Simple Reparameterization
to Accelerate Training of Deep Neural Networks", NIPS 2016, equations 2 and 3.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["WeightNormLinear", "weight_norm_backward"]


class WeightNormLinear(nn.Module):
    """A linear layer with rows w_i = g_i v_i / ||v_i||.

    Formula: y = x W^T + bias. Input (*, in), output (*, out) in the dtype of x. Parameters
    weight_g (out, 1), weight_v (out, in), bias (out,) or None. Raises ValueError as the
    module says.
    """

    weight_g: nn.Parameter
    weight_v: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        if in_features < 1 or out_features < 1:
            raise ValueError(
                f"WeightNormLinear needs at least 1 input and 1 output; got {in_features}, {out_features}."
            )
        self.in_features = in_features
        self.out_features = out_features
        bound = in_features**-0.5
        v = torch.empty(out_features, in_features).uniform_(-bound, bound)  # (out, in)
        self.weight_g = nn.Parameter(_row_norms(v))  # (out, 1)
        self.weight_v = nn.Parameter(v)
        b = torch.empty(out_features).uniform_(-bound, bound) if bias else None  # (out,)
        self.register_parameter("bias", None if b is None else nn.Parameter(b))

    @property
    def weight(self) -> Tensor:
        """W = g v / ||v||, (out, in), with a graph to g and v; made anew each time it is asked for."""
        v, g = _at_least_float32(self.weight_v), _at_least_float32(self.weight_g)
        return v / _row_norms(v) * g

    def forward(self, x: Tensor) -> Tensor:
        """x W^T + bias; see the class for the formula, the shapes and the errors."""
        if x.shape[-1:] != (self.in_features,):
            raise ValueError(
                f"WeightNormLinear needs {self.in_features} values on the last axis; got {tuple(x.shape)}."
            )
        if not x.is_floating_point():
            raise ValueError(f"WeightNormLinear needs a floating dtype; got {x.dtype}. Convert x first.")
        wide = _at_least_float32(x)  # (*, in)
        y = wide @ self.weight.to(wide.dtype).mT  # (*, out)
        if self.bias is not None:
            y = y + self.bias.to(wide.dtype)
        return y.to(x.dtype)

    def extra_repr(self) -> str:
        """The arguments, as torch prints its own."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


@torch.no_grad()
def weight_norm_backward(grad_weight: Tensor, weight_g: Tensor, weight_v: Tensor) -> tuple[Tensor, Tensor]:
    """From the gradient of W to those of g and v, without autograd.

    With the unit row u = v / ||v||, for each row:

        grad_g = <grad_weight, u>
        grad_v = (g / ||v||) (grad_weight - grad_g u)

    grad_v is orthogonal to v, so that a step along it can only make v longer.
    grad_weight, weight_v: (out, in); weight_g: (out, 1). Returns grad_g (out, 1) and grad_v
    (out, in), each in the dtype of what it is the gradient of. Raises ValueError for other
    shapes. Source: Salimans and Kingma 2016, equation 3.
    """
    if weight_v.dim() != 2 or grad_weight.shape != weight_v.shape or weight_g.shape != (len(weight_v), 1):
        raise ValueError(
            "weight_norm_backward needs grad_weight and weight_v (out, in) and weight_g (out, 1); got "
            f"{tuple(grad_weight.shape)}, {tuple(weight_v.shape)} and {tuple(weight_g.shape)}."
        )
    upstream, v = _at_least_float32(grad_weight), _at_least_float32(weight_v)  # (out, in)
    length = _row_norms(v)  # (out, 1)
    u = v / length  # (out, in)
    grad_g = (upstream * u).sum(1, keepdim=True)  # (out, 1)
    grad_v = (weight_g / length) * (upstream - grad_g * u)  # (out, in)
    return grad_g.to(weight_g.dtype), grad_v.to(weight_v.dtype)


def _row_norms(v: Tensor) -> Tensor:
    """||v_i|| of each row: (out, in) -> (out, 1)."""
    return v.square().sum(1, keepdim=True).sqrt()


def _at_least_float32(x: Tensor) -> Tensor:
    """x itself when it is float32 or float64; float16 and bfloat16 in float32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
