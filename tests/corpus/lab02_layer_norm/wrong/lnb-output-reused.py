# wrong: layer_norm_backward: grad_x is a module-wide buffer, overwritten by the next call of the same shape
import torch

_BUFFERS = {}


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    centred = x - mean
    var = (centred * centred).mean(-1, keepdim=True)
    inv = 1 / torch.sqrt(var + eps)
    x_hat = centred * inv
    g = grad_out * weight
    grad_x = inv * (g - g.mean(-1, keepdim=True) - x_hat * (g * x_hat).mean(-1, keepdim=True))
    axes = tuple(range(x.dim() - 1))
    grad_weight = (grad_out * x_hat).sum(axes)
    grad_bias = grad_out.sum(axes)
    grad_x = _BUFFERS.setdefault((tuple(x.shape), x.dtype), torch.empty_like(grad_x)).copy_(grad_x)
    return grad_x, grad_weight, grad_bias
