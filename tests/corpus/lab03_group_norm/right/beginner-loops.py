import torch


class GroupNorm(torch.nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        self.G = num_groups
        self.C = num_channels
        self.e = eps
        self.weight = None
        self.bias = None
        if affine == True:
            self.weight = torch.nn.Parameter(torch.ones(num_channels))
            self.bias = torch.nn.Parameter(torch.zeros(num_channels))

    def forward(self, x):
        if len(x.shape) < 2:
            raise ValueError("x has too few axes: " + str(len(x.shape)))
        if x.shape[1] != self.C:
            raise ValueError("x has " + str(x.shape[1]) + " channels")
        if self.C % self.G != 0:
            raise ValueError("cannot make groups")
        per = self.C // self.G
        samples = []
        for n in range(x.shape[0]):
            channels = []
            for g in range(self.G):
                group = x[n, g * per : (g + 1) * per]
                mean = group.mean()
                var = ((group - mean) ** 2).mean()
                normed = (group - mean) / torch.sqrt(var + self.e)
                for i in range(per):
                    c = g * per + i
                    if self.weight is not None:
                        channels.append(self.weight[c] * normed[i] + self.bias[c])
                    else:
                        channels.append(normed[i])
            samples.append(torch.stack(channels))
        return torch.stack(samples)


class InstanceNorm2d(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.C = num_features
        self.e = eps
        self.weight = None
        self.bias = None
        if affine == True:
            self.weight = torch.nn.Parameter(torch.ones(num_features))
            self.bias = torch.nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        if len(x.shape) != 4:
            raise ValueError("not a batch of images")
        N, C, H, W = x.shape
        if C != self.C:
            raise ValueError("wrong C")
        if H == 1 and W == 1:
            raise ValueError("only one pixel")
        y = torch.empty_like(x)
        for n in range(N):
            for c in range(C):
                p = x[n, c]
                m = p.sum() / (H * W)
                v = ((p - m) ** 2).sum() / (H * W)
                q = (p - m) / (v + self.e) ** 0.5
                if self.weight is not None:
                    q = q * self.weight[c] + self.bias[c]
                y[n, c] = q
        return y


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    per = x.shape[1] // num_groups
    grad_x = torch.zeros_like(x)
    grad_weight = torch.zeros_like(weight)
    grad_bias = torch.zeros_like(weight)
    for n in range(x.shape[0]):
        for g in range(num_groups):
            here = slice(g * per, (g + 1) * per)
            group = x[n, here]
            mean = group.mean()
            root = torch.sqrt(((group - mean) ** 2).mean() + eps)
            x_hat = (group - mean) / root
            a = torch.zeros_like(group)
            for i in range(per):
                c = g * per + i
                a[i] = grad_out[n, c] * weight[c]
                grad_weight[c] += (grad_out[n, c] * x_hat[i]).sum()
                grad_bias[c] += grad_out[n, c].sum()
            grad_x[n, here] = (a - a.mean() - x_hat * (a * x_hat).mean()) / root
    return (grad_x, grad_weight, grad_bias)


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n, l)
    if kind == "group":
        return (n, num_groups)
    raise Exception("unknown: " + kind)
