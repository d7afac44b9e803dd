# wrong: group_norm_backward: gnb-eps-or
import torch


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    eps = eps or 1e-5
    column = [1, -1] + [1] * (x.dim() - 2)
    axes = [axis for axis in range(x.dim()) if axis != 1]
    grouped = x.reshape(x.shape[0], num_groups, -1)
    mean = grouped.mean(dim=2, keepdim=True)
    var = ((grouped - mean) ** 2).mean(dim=2, keepdim=True)
    inv_std = 1 / torch.sqrt(var + eps)
    x_hat = (grouped - mean) * inv_std
    grad_weight = (grad_out * x_hat.reshape(x.shape)).sum(dim=axes)
    grad_bias = grad_out.sum(dim=axes)
    g = grad_out * weight.view(column)
    g = g.reshape(grouped.shape)
    mean_term = g.mean(dim=2, keepdim=True)
    x_hat_term = x_hat * (g * x_hat).mean(dim=2, keepdim=True)
    grad_x = inv_std * (g - mean_term - x_hat_term)
    return grad_x.reshape(x.shape), grad_weight, grad_bias
