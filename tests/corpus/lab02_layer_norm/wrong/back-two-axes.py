# wrong: layer_norm_backward: back-two-axes
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    leading = (0, 1)[: x.dim() - 1]
    mean = x.mean(dim=-1, keepdim=True)
    var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    inv_std = 1 / torch.sqrt(var + eps)
    x_hat = (x - mean) * inv_std
    grad_weight = (grad_out * x_hat).sum(dim=leading)
    grad_bias = grad_out.sum(dim=leading)
    g = grad_out * weight
    mean_term = g.mean(dim=-1, keepdim=True)
    x_hat_term = x_hat * (g * x_hat).mean(dim=-1, keepdim=True)
    grad_x = inv_std * (g - mean_term - x_hat_term)
    return grad_x, grad_weight, grad_bias
