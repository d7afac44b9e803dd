import torch
import torch.nn as nn
from typing import Union, List, Tuple

DEBUG = True


class LayerNorm(nn.Module):
    """My first layer norm. It prints what it does."""

    def __init__(self, normalized_shape: Union[int, List[int], Tuple[int, ...]], eps: float = 1e-5,
                 elementwise_affine: bool = True):
        super().__init__()
        if isinstance(normalized_shape, int):
            the_shape = (normalized_shape,)
        elif isinstance(normalized_shape, list):
            the_shape = tuple(normalized_shape)
        elif isinstance(normalized_shape, torch.Size):
            the_shape = tuple(normalized_shape)
        elif isinstance(normalized_shape, tuple):
            the_shape = normalized_shape
        else:
            raise TypeError("normalized_shape: int, list, tuple or torch.Size, please")
        assert len(the_shape) >= 1
        self.the_shape = the_shape
        self.eps = eps
        if elementwise_affine == True:
            self.weight = nn.Parameter(data=torch.ones(the_shape), requires_grad=True)
            self.bias = nn.Parameter(data=torch.zeros(the_shape), requires_grad=True)
        else:
            self.weight = None
            self.bias = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert isinstance(x, torch.Tensor), "x must be a tensor"
        number_of_axes = len(self.the_shape)
        if DEBUG:
            print("LayerNorm: input shape", x.shape, "dtype", x.dtype)
        if len(x.shape) < number_of_axes:
            raise ValueError("Not enough axes: " + str(x.shape))
        trailing = x.shape[len(x.shape) - number_of_axes:]
        for i in range(number_of_axes):
            if trailing[i] != self.the_shape[i]:
                raise ValueError("Axis " + str(i) + " differs")
        dims = []
        for i in range(1, number_of_axes + 1):
            dims.append(-i)
        mean = torch.mean(x, dim=dims, keepdim=True)
        var = torch.mean((x - mean) ** 2, dim=dims, keepdim=True)
        assert (var.detach() >= 0).all()
        x_hat = (x - mean) / torch.sqrt(var + self.eps)
        if self.weight is None:
            out = x_hat
        else:
            out = self.weight * x_hat
            out = out + self.bias
        assert out.shape == x.shape
        if DEBUG:
            print("LayerNorm: done, output mean", out.mean().item())
        return out


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    assert grad_out.shape == x.shape
    assert weight.shape == (x.shape[-1],)
    D = x.shape[-1]
    # bring everything to (N, D)
    old_shape = x.shape
    x2 = x.reshape(-1, D)
    dy = grad_out.reshape(-1, D)
    N = x2.shape[0]
    print("rows:", N, "features:", D)
    mean = x2.mean(dim=1).reshape(N, 1)
    xmu = x2 - mean
    var = (xmu ** 2).mean(dim=1).reshape(N, 1)
    sqrtvar = torch.sqrt(var + eps)
    ivar = 1.0 / sqrtvar
    x_hat = xmu * ivar
    # the staircase, as in the well known blog article
    grad_bias = dy.sum(dim=0)
    grad_weight = (dy * x_hat).sum(dim=0)
    dxhat = dy * weight
    divar = (dxhat * xmu).sum(dim=1, keepdim=True)
    dxmu1 = dxhat * ivar
    dsqrtvar = -1.0 / (sqrtvar ** 2) * divar
    dvar = 0.5 / torch.sqrt(var + eps) * dsqrtvar
    dsq = torch.ones(N, D, dtype=x.dtype, device=x.device) / D * dvar
    dxmu2 = 2 * xmu * dsq
    dx1 = dxmu1 + dxmu2
    dmu = -1 * (dxmu1 + dxmu2).sum(dim=1, keepdim=True)
    dx2 = torch.ones(N, D, dtype=x.dtype, device=x.device) / D * dmu
    dx = dx1 + dx2
    dx = dx.reshape(old_shape)
    return (dx, grad_weight, grad_bias)


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        if type(normalized_shape) == int:
            self.the_shape = (normalized_shape,)
        else:
            self.the_shape = tuple(normalized_shape)
        self.eps = eps
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(self.the_shape))
        else:
            self.weight = None

    def forward(self, x):
        print("RMSNorm:", tuple(x.shape))
        dims = [-i for i in range(1, len(self.the_shape) + 1)]
        if self.eps is None:
            eps = torch.finfo(x.dtype).eps
        else:
            eps = self.eps
        mean_of_squares = torch.mean(x ** 2, dim=dims, keepdim=True)
        out = x / torch.sqrt(mean_of_squares + eps)
        if self.weight is not None:
            out = self.weight * out
        out = out.to(dtype=x.dtype)
        assert out.dtype == x.dtype
        return out
