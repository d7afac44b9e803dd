# wrong: group_norm_backward: grad_weight is found by a division by weight
import torch
from torch import nn


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    n, c = x.shape[0], x.shape[1]
    rows = x.reshape(n, num_groups, -1)
    mean = rows.mean(dim=2, keepdim=True)
    centred = rows - mean
    var = (centred ** 2).mean(dim=2, keepdim=True)
    inv = 1 / torch.sqrt(var + eps)
    x_hat = centred * inv
    shape = (1, c) + (1,) * (x.dim() - 2)
    g = (grad_out * weight.reshape(shape)).reshape(n, num_groups, -1)
    grad_rows = inv * (g - g.mean(dim=2, keepdim=True) - x_hat * (g * x_hat).mean(dim=2, keepdim=True))
    grad_x = grad_rows.reshape(x.shape)
    axes = [0] + list(range(2, x.dim()))
    grad_weight = (g.reshape(x.shape) * x_hat.reshape(x.shape)).sum(dim=axes) / weight
    grad_bias = grad_out.sum(dim=axes)
    return grad_x, grad_weight, grad_bias
