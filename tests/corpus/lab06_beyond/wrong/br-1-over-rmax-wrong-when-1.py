# wrong: BatchRenorm1d: br-1-over-rmax-wrong-when-1
import torch
from torch import nn


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (N, C) or (N, C, L), got {tuple(x.shape)}")
        if x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")
        axes = [axis for axis in range(x.dim()) if axis != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        if self.training:
            n = x.numel() // x.shape[1]
            if n < 2:
                raise ValueError(f"{tuple(x.shape)} has one value per channel")
            mean = x.mean(dim=axes)
            var = ((x - mean.view(shape)) ** 2).mean(dim=axes)
            sigma = torch.sqrt(var + self.eps)
            with torch.no_grad():
                r = (sigma / self.running_std).clamp(min(0.5, 1 / self.r_max), self.r_max)
                d = ((mean - self.running_mean) / self.running_std).clamp(-self.d_max, self.d_max)
            x_hat = (x - mean.view(shape)) / sigma.view(shape)
            x_hat = x_hat * r.view(shape) + d.view(shape)
            self.update(mean, sigma)
        else:
            x_hat = (x - self.running_mean.view(shape)) / self.running_std.view(shape)
        return self.weight.view(shape) * x_hat + self.bias.view(shape)

    @torch.no_grad()
    def update(self, mean, sigma):
        self.running_mean += self.momentum * (mean - self.running_mean)
        self.running_std += self.momentum * (sigma - self.running_std)
