import math
import torch
from torch import nn
import torch.nn.functional as F


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        assert isinstance(num_features, int) and num_features > 0, "num_features must be a positive int"
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        ones = torch.ones(num_features)
        zeros = torch.zeros(num_features)
        self.weight = nn.Parameter(ones.clone())
        self.bias = nn.Parameter(zeros.clone())
        self.register_buffer("running_mean", zeros.clone())
        self.register_buffer("running_std", ones.clone())
        self.verbose = False

    def forward(self, x):
        # 1. look at the input
        number_of_axes = len(x.shape)
        if number_of_axes != 2 and number_of_axes != 3:
            raise ValueError("x must have 2 or 3 axes but has " + str(number_of_axes))
        if x.shape[1] != self.num_features:
            raise ValueError("x must have " + str(self.num_features) + " channels")
        if self.verbose:
            print("x:", x.shape, x.dtype, "training:", self.training)

        # 2. make 2 axes to 3
        if number_of_axes == 2:
            x3 = x.unsqueeze(2)
        else:
            x3 = x
        N = x3.shape[0]
        C = x3.shape[1]
        L = x3.shape[2]
        m = N * L

        # 3. the two modes
        if self.training == True:
            if m == 1:
                raise ValueError("a single value has no spread")
            mean = x3.sum(dim=2).sum(dim=0) / m
            difference = x3 - mean.reshape(1, C, 1)
            variance = (difference ** 2).sum(dim=2).sum(dim=0) / m
            sigma = torch.sqrt(variance + self.eps)
            assert mean.shape == (C,) and sigma.shape == (C,)

            r = sigma.detach().clone() / self.running_std
            d = (mean.detach().clone() - self.running_mean) / self.running_std
            r = torch.where(r > self.r_max, torch.full_like(r, self.r_max), r)
            r = torch.where(r < 1 / self.r_max, torch.full_like(r, 1 / self.r_max), r)
            d = torch.where(d > self.d_max, torch.full_like(d, self.d_max), d)
            d = torch.where(d < -self.d_max, torch.full_like(d, -self.d_max), d)
            assert not r.requires_grad and not d.requires_grad

            x_hat = difference / sigma.reshape(1, C, 1) * r.reshape(1, C, 1) + d.reshape(1, C, 1)

            new_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean.detach()
            new_std = (1 - self.momentum) * self.running_std + self.momentum * sigma.detach()
            self.running_mean.copy_(new_mean)
            self.running_std.copy_(new_std)
        else:
            x_hat = (x3 - self.running_mean.reshape(1, C, 1)) / self.running_std.reshape(1, C, 1)

        # 4. weight and bias
        y = self.weight.reshape(1, C, 1) * x_hat + self.bias.reshape(1, C, 1)
        if number_of_axes == 2:
            y = y.squeeze(2)
        y = y.to(x.dtype)
        assert y.shape == x.shape
        return y


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bound = 1.0 / in_features ** 0.5
        start = (2 * torch.rand(out_features, in_features) - 1) * bound
        lengths = torch.zeros(out_features, 1)
        for i in range(out_features):
            lengths[i, 0] = torch.sqrt(torch.sum(start[i] ** 2))
        self.weight_v = nn.Parameter(start)
        self.weight_g = nn.Parameter(lengths)
        if bias == True:
            self.bias = nn.Parameter(torch.zeros(out_features))
        else:
            self.bias = None

    def forward(self, x):
        assert x.shape[-1] == self.in_features, "wrong last axis"
        squares = self.weight_v ** 2
        lengths = torch.sqrt(squares.sum(dim=1))
        directions = self.weight_v / lengths.reshape(self.out_features, 1)
        W = self.weight_g * directions
        assert W.shape == (self.out_features, self.in_features)
        y = torch.matmul(x, W.transpose(0, 1))
        if self.bias is not None:
            y = y + self.bias
        return y
