# My solution for lab 3. I print a lot so that I see what happens.
import torch
import torch.nn as nn


def statistics_shape(kind, n, l, c, num_groups=None):
    """Return the shape of the statistics of an input (N, L, C), a tuple."""
    print("statistics_shape called with", kind, n, l, c, num_groups)
    allowed_kinds = ["batch", "layer", "token", "group"]
    assert kind in allowed_kinds, "I do not know this kind"
    result = []
    if kind == "batch":
        result.append(c)
    if kind == "layer" or kind == "token" or kind == "group":
        result.append(n)
    if kind == "token":
        result.append(l)
    if kind == "group":
        result.append(num_groups)
    return tuple(result)


def to_groups(x, num_groups):
    number_of_samples = x.shape[0]
    number_of_channels = x.shape[1]
    places = 1
    for size in x.shape[2:]:
        places = places * size
    m = (number_of_channels // num_groups) * places
    return x.contiguous().view(number_of_samples, num_groups, m)


def group_statistics(grouped):
    m = grouped.shape[2]
    mean = torch.sum(grouped, dim=2) / m
    difference = grouped - mean.unsqueeze(2)
    var = torch.sum(difference * difference, dim=2) / m
    return mean, var


def normalize_groups(grouped, mean, var, eps):
    return (grouped - mean.unsqueeze(2)) / torch.sqrt(var.unsqueeze(2) + eps)


def from_groups(grouped, shape):
    return grouped.contiguous().view(shape)


def scale_channels(x_hat, weight, bias):
    new_shape = [1] * len(x_hat.shape)
    new_shape[1] = x_hat.shape[1]
    return weight.reshape(new_shape) * x_hat + bias.reshape(new_shape)


class GroupNorm(nn.Module):
    """Group normalization of (N, C, *)."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if not isinstance(num_groups, int):
            raise TypeError("num_groups must be an int")
        if not isinstance(num_channels, int):
            raise TypeError("num_channels must be an int")
        if num_channels % num_groups != 0:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        if self.affine == True:
            self.weight = nn.Parameter(torch.ones(num_channels))
            self.bias = nn.Parameter(torch.zeros(num_channels))
        else:
            self.weight = None
            self.bias = None

    def forward(self, x):
        print("x has shape", x.shape, "and dtype", x.dtype)
        if not torch.is_tensor(x):
            raise TypeError("x must be a tensor")
        if len(x.shape) < 2:
            raise ValueError("x must have at least two axes")
        if x.shape[1] != self.num_channels:
            raise ValueError("x has the wrong number of channels")
        grouped = to_groups(x, self.num_groups)
        mean, var = group_statistics(grouped)
        x_hat = normalize_groups(grouped, mean, var, self.eps)
        y = from_groups(x_hat, x.shape)
        if self.affine == True:
            y = scale_channels(y, self.weight, self.bias)
        assert y.shape == x.shape
        return y


class InstanceNorm2d(nn.Module):
    """Instance normalization of (N, C, H, W)."""

    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.affine = affine
        if self.affine == True:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        print("image batch", x.shape)
        if len(x.shape) != 4:
            raise ValueError("x must have four axes")
        if x.shape[1] != self.num_features:
            raise ValueError("x has the wrong number of channels")
        if x.shape[2] == 1 and x.shape[3] == 1:
            raise ValueError("images of one pixel")
        grouped = to_groups(x, self.num_features)
        mean, var = group_statistics(grouped)
        y = from_groups(normalize_groups(grouped, mean, var, self.eps), x.shape)
        if self.affine == True:
            y = scale_channels(y, self.weight, self.bias)
        return y


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    """Return (grad_x, grad_weight, grad_bias)."""
    grouped = to_groups(x, num_groups)
    mean, var = group_statistics(grouped)
    x_hat = normalize_groups(grouped, mean, var, eps)
    m = grouped.shape[2]
    # step 1: the gradient of x_hat
    grad_x_hat = to_groups(scale_channels(grad_out, weight, torch.zeros_like(weight)), num_groups)
    # step 2: two sums
    sum_1 = torch.sum(grad_x_hat, dim=2, keepdim=True)
    sum_2 = torch.sum(grad_x_hat * x_hat, dim=2, keepdim=True)
    # step 3: all together
    grad_grouped = (m * grad_x_hat - sum_1 - x_hat * sum_2) / (m * torch.sqrt(var + eps).unsqueeze(2))
    grad_x = from_groups(grad_grouped, x.shape)
    x_hat_full = from_groups(x_hat, x.shape)
    grad_weight = []
    grad_bias = []
    for channel in range(x.shape[1]):
        grad_weight.append(torch.sum(grad_out[:, channel] * x_hat_full[:, channel]))
        grad_bias.append(torch.sum(grad_out[:, channel]))
    grad_weight = torch.stack(grad_weight)
    grad_bias = torch.stack(grad_bias)
    print("norms", grad_x.norm().item(), grad_weight.norm().item(), grad_bias.norm().item())
    return grad_x, grad_weight, grad_bias
