import torch
import torch.nn as nn


def as_shape(s):
    return (s,) if isinstance(s, int) else tuple(s)


class _Norm(nn.Module):
    center = True

    def __init__(self, normalized_shape, eps, elementwise_affine):
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        names = ["weight"] + (["bias"] if self.center else [])
        for n in names:
            if elementwise_affine:
                self.register_parameter(n, nn.Parameter(torch.empty(self.normalized_shape)))
            else:
                self.register_parameter(n, None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.elementwise_affine:
            nn.init.ones_(self.weight)
            if self.center:
                nn.init.zeros_(self.bias)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"

    def forward(self, x):
        k = len(self.normalized_shape)
        if x.shape[max(0, x.dim() - k):] != torch.Size(self.normalized_shape):
            raise ValueError("the trailing shape differs")
        flat = x.flatten(-k) if k > 1 else x
        if self.center:
            flat = flat - flat.mean(-1, True)
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        y = (flat * (flat.pow(2).mean(-1, True) + eps).rsqrt()).view_as(x) if x.is_contiguous() else (
            flat * (flat.pow(2).mean(-1, True) + eps).rsqrt()).reshape(x.shape)
        if self.weight is not None:
            y = y * self.weight
            if self.center:
                y = y + self.bias
        return y.to(x.dtype)


class LayerNorm(_Norm):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__(normalized_shape, eps, elementwise_affine)


class RMSNorm(_Norm):
    center = False

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__(normalized_shape, eps, elementwise_affine)


def layer_norm_steps(grad_out, x, weight, eps):
    D = x.shape[-1]
    mean = x.mean(-1, keepdim=True)
    d = x - mean
    var = d.square().mean(-1, keepdim=True)
    s = (var + eps).sqrt()
    x_hat = d / s
    gh = grad_out * weight
    gv = (gh * d * -0.5 * (var + eps) ** -1.5).sum(-1, keepdim=True)
    gm = -(gh / s).sum(-1, keepdim=True) + gv * (-2 / D) * d.sum(-1, keepdim=True)
    gx = gh / s + gv * 2 * d / D + gm / D
    return dict(mean=mean, var=var, x_hat=x_hat, grad_x_hat=gh, grad_var=gv, grad_mean=gm, grad_x=gx)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    s = layer_norm_steps(grad_out, x, weight, eps)
    lead = list(range(x.ndim - 1))
    return [s["grad_x"], (grad_out * s["x_hat"]).sum(lead), grad_out.sum(lead)]
