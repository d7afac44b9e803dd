# wrong: layer_norm_backward: short cut for the variance in rows longer than 16
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    centred = x - mean
    var = (centred * centred).mean(-1, keepdim=True)
    if x.shape[-1] > 16:
        var = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
    inv = 1 / torch.sqrt(var + eps)
    x_hat = centred * inv
    g = grad_out * weight
    grad_x = inv * (g - g.mean(-1, keepdim=True) - x_hat * (g * x_hat).mean(-1, keepdim=True))
    axes = tuple(range(x.dim() - 1))
    grad_weight = (grad_out * x_hat).sum(axes)
    grad_bias = grad_out.sum(axes)
    return grad_x, grad_weight, grad_bias
