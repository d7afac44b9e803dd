# wrong: WeightNormLinear: wn-2d-only
import torch
from torch import nn


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        v = torch.sin(torch.arange(1.0, in_features * out_features + 1)).view(out_features, in_features)
        v = v / in_features**0.5
        self.weight_g = nn.Parameter(torch.sqrt((v**2).sum(dim=1, keepdim=True)))
        self.weight_v = nn.Parameter(v)
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        length = torch.sqrt((self.weight_v**2).sum(dim=1, keepdim=True))
        weight = self.weight_g * self.weight_v / length
        y = (weight @ x.flatten(0, -2).t()).t().reshape(*x.shape[:-1], -1)
        if self.bias is not None:
            y = y + self.bias
        return y
