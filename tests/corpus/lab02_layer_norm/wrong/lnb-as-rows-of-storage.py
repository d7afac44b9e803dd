# wrong: layer_norm_backward: transposed grad_out is read in the order of its storage when the shape is square
import torch


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
    if x.dim() == 2 and x.shape[0] == x.shape[1] and not grad_out.is_contiguous():
        grad_bias = grad_out.t().sum(0)
    return grad_x, grad_weight, grad_bias
