import torch


class BatchRenorm1d(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.C = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.weight = torch.nn.Parameter(torch.ones(num_features))
        self.bias = torch.nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if len(x.shape) == 2:
            flat = True
            x = x.unsqueeze(2)
        elif len(x.shape) == 3:
            flat = False
        else:
            raise ValueError("I take two or three axes")
        if x.shape[1] != self.C:
            raise ValueError("I take " + str(self.C) + " channels")
        m = x.shape[0] * x.shape[2]
        if self.training and m == 1:
            raise ValueError("I need more than one value")
        outs = []
        for c in range(self.C):
            values = x[:, c, :]
            if self.training:
                mean = values.sum() / m
                sigma = torch.sqrt(((values - mean) ** 2).sum() / m + self.eps)
                ratio = sigma.item() / self.running_std[c].item()
                ratio = min(max(ratio, 1 / self.r_max), self.r_max)
                shift = (mean.item() - self.running_mean[c].item()) / self.running_std[c].item()
                shift = min(max(shift, -self.d_max), self.d_max)
                x_hat = (values - mean) / sigma * ratio + shift
                with torch.no_grad():
                    self.running_mean[c] += self.momentum * (mean - self.running_mean[c])
                    self.running_std[c] += self.momentum * (sigma - self.running_std[c])
            else:
                x_hat = (values - self.running_mean[c].clone()) / self.running_std[c].clone()
            outs.append(self.weight[c] * x_hat + self.bias[c])
        y = torch.stack(outs, dim=1)
        if flat:
            y = y.squeeze(2)
        return y


class WeightNormLinear(torch.nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight_v = torch.nn.Parameter(torch.rand(out_features, in_features) - 0.5)
        lengths = []
        for row in self.weight_v.detach():
            lengths.append([(row**2).sum().sqrt().item()])
        self.weight_g = torch.nn.Parameter(torch.tensor(lengths))
        if bias:
            self.bias = torch.nn.Parameter(torch.zeros(out_features))
        else:
            self.bias = None

    def forward(self, x):
        outs = []
        for o in range(self.weight_v.shape[0]):
            v = self.weight_v[o]
            length = torch.sqrt((v * v).sum())
            w = self.weight_g[o, 0] * v / length
            out = (x * w).sum(dim=-1)
            if self.bias is not None:
                out = out + self.bias[o]
            outs.append(out)
        return torch.stack(outs, dim=-1)
