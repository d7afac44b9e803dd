"""Layer normalization and RMSNorm, written to be read: two modules and their backward passes by hand.

This file is the truth that the course compares with. It is not fast, it keeps no
statistics (training and evaluation are the same thing), and it calls no normalization
of torch: every line is a mean, a sum or a product. Each set of values that is normalized
together is one slice over the LAST k axes, k = len(normalized_shape), of one sample:

    layer                       input                axes of the statistics   values per set m
    LayerNorm(D), RMSNorm(D)    (N, D), (N, T, D)    -1                       D
    LayerNorm((H, W))           (N, C, H, W)         -2, -1                   H * W
    LayerNorm((C, H, W))        (N, C, H, W)         -3, -2, -1               C * H * W

    mu = (1/m) sum x,   v = (1/m) sum (x - mu)^2
    LayerNorm:  y = weight (x - mu) / sqrt(v + eps) + bias
    RMSNorm:    y = weight x / sqrt((1/m) sum x^2 + eps)

weight and bias have one value per POSITION in the set, so the shape normalized_shape.

What torch.nn leaves open is decided here:

* Statistics are computed in float32 or better (float16 and bfloat16 are widened first),
  v from the differences, never as E[x^2] - E[x]^2. The float32 mean of values near 1e4 may
  be off by 1e-3, so the mean of the differences is taken away too: equal values become 0.
* x may be wider than the parameters; the output has the dtype of x in any case.
* RMSNorm with eps=None takes torch.finfo(x.dtype).eps, also for float16 and bfloat16, where
  newer versions of torch take the eps of float32.
* Other last axes, an empty normalized_shape and an x that is not floating raise ValueError.

Sources: J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization", 2016, section 3,
equation 3 (and eps as in torch); B. Zhang and R. Sennrich, "Root Mean Square Layer
Normalization", NeurIPS 2019, equation 4; names and defaults as in torch.nn.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["LayerNorm", "RMSNorm", "layer_norm_backward", "rms_norm_backward"]


class _OverLastAxes(nn.Module):
    """What the two layers share: the shape of a set, eps, and a weight per position."""

    weight: nn.Parameter | None

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None, elementwise_affine: bool) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = torch.ones(self.normalized_shape)
        # Registering None keeps the name and leaves it out of the state dict, as torch does.
        self.register_parameter("weight", nn.Parameter(weight) if elementwise_affine else None)

    def extra_repr(self) -> str:
        """The arguments, as torch prints them."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LayerNorm(_OverLastAxes):
    """Give every sample mean 0 and variance 1 over its last axes, then scale and shift each position.

    Formula: y = weight (x - mu) / sqrt(v + eps) + bias, mu and the biased v over the
    last len(normalized_shape) axes. Input (*, *normalized_shape), output of the same
    shape and dtype. Parameters weight (ones), bias (zeros): normalized_shape, or None
    without elementwise_affine. ValueError: see the module.
    """

    eps: float
    bias: nn.Parameter | None

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        bias = torch.zeros(self.normalized_shape)
        self.register_parameter("bias", nn.Parameter(bias) if elementwise_affine else None)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x; see the class for the formula, the shapes and the errors."""
        over = _axes(x, self.normalized_shape, "LayerNorm")
        centred = _centred(_at_least_float32(x), over)  # (*, *normalized_shape)
        var = centred.square().mean(over, keepdim=True)  # (*, 1, ...), biased: divided by m
        y = centred / (var + self.eps).sqrt()  # (*, *normalized_shape)
        if self.weight is not None and self.bias is not None:
            y = y * self.weight.to(y.dtype) + self.bias.to(y.dtype)
        return y.to(x.dtype)


class RMSNorm(_OverLastAxes):
    """Give every sample a root mean square of 1 over its last axes, then scale each position.

    Formula: y = weight x / sqrt(mean(x^2) + eps), without mean and bias; eps=None means
    torch.finfo(x.dtype).eps. Shapes, dtypes, weight and errors as in LayerNorm.
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x; see the class for the formula, the shapes and the errors."""
        over = _axes(x, self.normalized_shape, "RMSNorm")
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        wide = _at_least_float32(x)  # (*, *normalized_shape)
        y = wide / (wide.square().mean(over, keepdim=True) + eps).sqrt()  # (*, *normalized_shape)
        if self.weight is not None:
            y = y * self.weight.to(y.dtype)
        return y.to(x.dtype)


@torch.no_grad()
def layer_norm_backward(
    grad_out: Tensor, x: Tensor, weight: Tensor, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of layer normalization over the last axis, without autograd.

    With g = weight grad_out, x_hat = (x - mu) / s and s = sqrt(v + eps), means over the last axis:

        grad_x      = (1 / s) (g - mean(g) - x_hat mean(g x_hat))
        grad_weight = sum grad_out x_hat      over all axes but the last
        grad_bias   = sum grad_out            over all axes but the last

    weight differs inside a set, so it is multiplied in BEFORE the means are taken.
    grad_out, x: (*, D), at least 2 axes; weight: (D,); others raise ValueError. Returns
    grad_x (*, D), grad_weight (D,), grad_bias (D,), each in the dtype of what it is the
    gradient of. Source: Ba et al. 2016, equation 3, differentiated.
    """
    _check_backward(grad_out, x, weight, "layer_norm_backward")
    rows = tuple(range(x.dim() - 1))
    upstream = _at_least_float32(grad_out)  # (*, D)
    centred = _centred(_at_least_float32(x), (-1,))  # (*, D)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()  # (*, 1)
    x_hat = centred / s  # (*, D)
    g = upstream * weight  # (*, D)
    grad_x = (g - g.mean(-1, keepdim=True) - x_hat * (g * x_hat).mean(-1, keepdim=True)) / s  # (*, D)
    grad_weight, grad_bias = (upstream * x_hat).sum(rows), upstream.sum(rows)  # (D,), (D,)
    return grad_x.to(x.dtype), grad_weight.to(weight.dtype), grad_bias.to(weight.dtype)


@torch.no_grad()
def rms_norm_backward(grad_out: Tensor, x: Tensor, weight: Tensor, eps: float | None = None) -> tuple[Tensor, Tensor]:
    """The gradients of RMSNorm over the last axis, without autograd.

    With g = weight grad_out, s = sqrt(mean(x^2) + eps) and x_hat = x / s:

        grad_x      = (1 / s) (g - x_hat mean(g x_hat))     no mean(g): nothing was centred
        grad_weight = sum grad_out x_hat                    over all axes but the last

    Returns (grad_x, grad_weight). Shapes and errors as in layer_norm_backward, eps=None as
    in RMSNorm. Source: Zhang and Sennrich 2019, equation 4, differentiated.
    """
    _check_backward(grad_out, x, weight, "rms_norm_backward")
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    upstream, wide = _at_least_float32(grad_out), _at_least_float32(x)  # (*, D)
    s = (wide.square().mean(-1, keepdim=True) + eps).sqrt()  # (*, 1)
    x_hat = wide / s  # (*, D)
    g = upstream * weight  # (*, D)
    grad_x = (g - x_hat * (g * x_hat).mean(-1, keepdim=True)) / s  # (*, D)
    grad_weight = (upstream * x_hat).sum(tuple(range(x.dim() - 1)))  # (D,)
    return grad_x.to(x.dtype), grad_weight.to(weight.dtype)


def _centred(x: Tensor, over: tuple[int, ...]) -> Tensor:
    """x less its mean, and less what the rounding of that mean left over."""
    centred = x - x.mean(over, keepdim=True)
    return centred - centred.mean(over, keepdim=True)


def _at_least_float32(x: Tensor) -> Tensor:
    """x itself when it is float32 or float64; float16 and bfloat16 in float32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _as_shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """8 -> (8,); a list, a tuple or a torch.Size -> a tuple."""
    shape = tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (int(normalized_shape),)
    if not shape:
        raise ValueError("normalized_shape needs at least one axis; got (). Give an int or a tuple of ints.")
    return shape


def _axes(x: Tensor, normalized_shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The axes to take the statistics over, counted from the end; ValueError where x does not end in them."""
    if tuple(x.shape[-len(normalized_shape) :]) != normalized_shape:
        wanted = ", ".join(str(size) for size in normalized_shape)
        raise ValueError(f"{name} needs an input whose last axes are ({wanted}); got shape {tuple(x.shape)}.")
    if not x.is_floating_point():
        raise ValueError(f"{name} needs a floating dtype; got {x.dtype}. Convert x first.")
    return tuple(range(-len(normalized_shape), 0))


def _check_backward(grad_out: Tensor, x: Tensor, weight: Tensor, name: str) -> None:
    if x.dim() < 2 or grad_out.shape != x.shape or weight.shape != x.shape[-1:]:
        shapes = f"{tuple(x.shape)}, {tuple(grad_out.shape)} and {tuple(weight.shape)}"
        raise ValueError(f"{name} needs x, grad_out (*, D) with at least 2 axes and weight (D,); got {shapes}.")
