# wrong: InstanceNorm2d: five axes are accepted where the third has size 1
import torch
from torch import nn


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.affine = affine
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, x):
        if x.dim() == 5 and x.shape[2] == 1:
            x = x.squeeze(2)
        if x.dim() != 4:
            raise ValueError("expected (N, C, H, W)")
        if x.shape[1] != self.num_features:
            raise ValueError("wrong number of channels")
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError("one pixel has no spread")
        mean = x.mean(dim=(2, 3), keepdim=True)
        centred = x - mean
        var = (centred ** 2).mean(dim=(2, 3), keepdim=True)
        y = centred / torch.sqrt(var + self.eps)
        if self.weight is not None:
            y = y * self.weight.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)
        return y
