# wrong: WeightNormLinear: in evaluation W is kept until v changes; a change of g is not seen
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
        self._w = self._key = None

    def forward(self, x):
        key = (self.weight_v._version, self.weight_v.data_ptr(), torch.is_grad_enabled() and (x.requires_grad or self.training))
        if self.training or key != self._key:
            length = self.weight_v.pow(2).sum(1, keepdim=True).sqrt()
            self._w, self._key = self.weight_g * self.weight_v / length, key
        weight = self._w
        y = x @ weight.T
        if self.bias is not None:
            y = y + self.bias
        return y
