# wrong: WeightNormLinear: in evaluation W is kept from the first call
import math
import torch
from torch import nn
import torch.nn.functional as F


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features)
        v = torch.empty(out_features, in_features).uniform_(-bound, bound)
        self.weight_v = nn.Parameter(v)
        self.weight_g = nn.Parameter(v.pow(2).sum(1, keepdim=True).sqrt())
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound))
        else:
            self.register_parameter("bias", None)
        self._w = None

    def forward(self, x):
        if self.training:
            self._w = None
        weight = self._w
        if weight is None:
            length = self.weight_v.pow(2).sum(1, keepdim=True).sqrt()
            weight = self.weight_g * self.weight_v / length
            if not self.training and not torch.is_grad_enabled():
                self._w = weight.detach()
        y = x @ weight.T
        if self.bias is not None:
            y = y + self.bias
        return y
