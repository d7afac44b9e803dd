from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Limits:
    r: float
    d: float

    def __call__(self, ratio: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
        return ratio.clamp(self.r**-1, self.r), shift.clamp(-self.d, self.d)


def moved(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    return ((1 - momentum) * old + momentum * new).detach().to(old.dtype)


class BatchRenorm1d(nn.Module):
    running_mean: Tensor
    running_std: Tensor

    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.r_max, self.d_max = r_max, d_max
        self._eps, self._momentum, self._c = eps, momentum, num_features
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.weight = nn.Parameter(torch.ones(num_features))
        self.register_buffer("running_std", torch.ones(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))

    def forward(self, x: Tensor) -> Tensor:
        match x.shape:
            case [n, c] if c == self._c:
                m = n
            case [n, c, length] if c == self._c:
                m = n * length
            case shape:
                raise ValueError(f"(N, {self._c}) or (N, {self._c}, L), not {tuple(shape)}")
        last = x.movedim(1, -1)  # channels last, whatever the rank
        if not self.training:
            return ((last - self.running_mean) / self.running_std * self.weight + self.bias).movedim(-1, 1)
        if m < 2:
            raise ValueError("m = 1")
        axes = tuple(range(last.ndim - 1))
        mean = last.mean(axes)
        centred = last - mean
        sigma = centred.square().mean(axes).add(self._eps).sqrt()
        r, d = Limits(self.r_max, self.d_max)(
            sigma.detach() / self.running_std, (mean.detach() - self.running_mean) / self.running_std
        )
        y = torch.addcmul(self.bias, torch.addcmul(d, centred / sigma, r), self.weight)
        self.running_mean = moved(self.running_mean, mean, self._momentum)
        self.running_std = moved(self.running_std, sigma, self._momentum)
        return y.movedim(-1, 1)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        start = nn.init.kaiming_uniform_(torch.empty(out_features, in_features), a=5**0.5)
        self.weight_g = nn.Parameter(torch.linalg.vector_norm(start, dim=1, keepdim=True))
        self.weight_v = nn.Parameter(start)
        self.bias = nn.Parameter(torch.full((out_features,), 0.1)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight_g / torch.linalg.vector_norm(self.weight_v, dim=1, keepdim=True)
        y = (x @ self.weight_v.mT) * scale[:, 0]
        return y if self.bias is None else y + self.bias
