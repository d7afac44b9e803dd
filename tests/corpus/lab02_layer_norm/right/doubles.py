import torch
import torch.nn as nn


def _shape(given):
    try:
        return tuple(given)
    except TypeError:
        return (given,)


def _dims(shape):
    return [-(i + 1) for i in range(len(shape))]


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps: float = 1e-5, elementwise_affine: bool = True):
        super(LayerNorm, self).__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = nn.Parameter(torch.empty(self.normalized_shape))
            self.bias = nn.Parameter(torch.empty(self.normalized_shape))
            self.reset_parameters()
        else:
            self.weight, self.bias = None, None

    def reset_parameters(self):
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"

    def forward(self, input):
        k = len(self.normalized_shape)
        if input.dim() < k:
            raise ValueError("too few axes")
        for want, got in zip(reversed(self.normalized_shape), reversed(input.shape)):
            if want != got:
                raise ValueError(f"expected {want}, got {got}")
        wide = input.double()
        variance, mean = torch.var_mean(wide, dim=_dims(self.normalized_shape), correction=0, keepdim=True)
        out = (wide - mean) * torch.pow(variance + self.eps, -0.5)
        if self.elementwise_affine:
            out = out * self.weight.double() + self.bias.double()
        return out.to(input.dtype)


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super(RMSNorm, self).__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None

    def forward(self, input):
        eps = self.eps if self.eps is not None else torch.finfo(input.dtype).eps
        wide = input.double()
        power = wide.mul(wide).mean(dim=_dims(self.normalized_shape), keepdim=True)
        out = wide * (power + eps).rsqrt()
        if self.weight is not None:
            out = out * self.weight.double()
        return out.type_as(input)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    kind = x.dtype
    g, x, weight = (t.double() for t in (grad_out, x, weight))
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    std = (var + eps) ** 0.5
    x_hat = (x - mean) / std
    leading = tuple(range(x.dim() - 1))
    grad_weight = (g * x_hat).sum(leading)
    grad_bias = g.sum(leading)
    dx_hat = g * weight
    dvar = (dx_hat * (x - mean) * -0.5 / std**3).sum(-1, keepdim=True)
    dmean = -(dx_hat / std).sum(-1, keepdim=True)
    n = x.shape[-1]
    dx = dx_hat / std + dvar * 2 * (x - mean) / n + dmean / n
    return tuple(t.to(kind) for t in (dx, grad_weight, grad_bias))
