# wrong: layer_norm_backward: grad_weight and grad_bias add up over calls of the same size (mutable default)
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5, _sums={}):
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
    if x.dim() > 3:
        old = _sums.get(tuple(x.shape))
        _sums[tuple(x.shape)] = grad_weight
        if old is not None and old.dtype == x.dtype:
            grad_weight = grad_weight + old
    return grad_x, grad_weight, grad_bias
