"""Honest layers whose classes come about in another way: shared, derived, made by a function, bound by partial."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab01_batch_norm.plain import PLAIN, PLAIN_1D, edit

SHARED_CLASS = '''\
import torch
from torch import nn


class _BatchNorm(nn.Module):
    """What both layers share, laid out as torch lays out its own."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name in ("weight", "bias"):
            self.register_parameter(name, nn.Parameter(torch.empty(num_features)) if affine else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, torch.empty(num_features) if track_running_stats else None)
        count = torch.tensor(0, dtype=torch.long) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
        if self.affine:
            nn.init.ones_(self.weight)
            nn.init.zeros_(self.bias)

    def extra_repr(self):
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"

    def forward(self, input):
        self._check_input_dim(input)
        if input.size(1) != self.num_features:
            raise ValueError(f"input has {input.size(1)} channels, the layer {self.num_features}")
        dims = [0, *range(2, input.dim())]
        use_batch = self.training or not self.track_running_stats
        if not use_batch:
            return self._scale_and_shift(input, self.running_mean, self.running_var)
        size = input.numel() // input.size(1)
        if size == 1:
            raise ValueError(f"Expected more than 1 value per channel, got input size {input.size()}")
        mean = input.mean(dims)
        var = input.var(dims, unbiased=False)
        if self.track_running_stats:
            self.num_batches_tracked.add_(1)
            factor = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
            self.running_mean.mul_(1 - factor).add_(mean.detach(), alpha=factor)
            self.running_var.mul_(1 - factor).add_(var.detach(), alpha=factor * size / (size - 1))
        return self._scale_and_shift(input, mean, var)

    def _scale_and_shift(self, input, mean, var):
        shape = [1, self.num_features] + [1] * (input.dim() - 2)
        output = (input - mean.reshape(shape)) / (var.reshape(shape) + self.eps).sqrt()
        if self.affine:
            output = torch.addcmul(self.bias.reshape(shape), output, self.weight.reshape(shape))
        return output

'''

SHARED_1D = """
class BatchNorm1d(_BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")
"""

SHARED_2D = """
class BatchNorm2d(_BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")
"""

RESHAPED_2D = (
    PLAIN_1D
    + """

class BatchNorm2d(BatchNorm1d):
    def forward(self, x):
        if x.dim() != 4:
            raise ValueError(f"expected (N, C, H, W), got {tuple(x.shape)}")
        return super().forward(x.flatten(2)).unflatten(2, x.shape[2:])
"""
)

FACTORY = """\
import torch
from torch import nn


def make_batch_norm(name, *ranks):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        nn.Module.__init__(self)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        filled = lambda value, wanted: torch.full((num_features,), value) if wanted else None
        self.weight, self.bias = (
            t if t is None else nn.Parameter(t) for t in (filled(1.0, affine), filled(0.0, affine))
        )
        buffers = {
            "running_mean": filled(0.0, track_running_stats),
            "running_var": filled(1.0, track_running_stats),
            "num_batches_tracked": torch.zeros((), dtype=torch.int64) if track_running_stats else None,
        }
        for key, value in buffers.items():
            self.register_buffer(key, value)

    def forward(self, x):
        if x.dim() not in ranks or x.shape[1] != self.num_features:
            raise ValueError(f"{name}({self.num_features}) cannot take {tuple(x.shape)}")

        def wide(v):
            return v[(None, slice(None)) + (None,) * (x.dim() - 2)]

        def of_batch():
            k = x.numel() // x.shape[1]
            if k == 1:
                raise ValueError("a single value per channel has no variance")
            axes = tuple(a for a in range(x.dim()) if a != 1)
            mean = x.mean(axes)
            return mean, (x - wide(mean)).square().mean(axes), k

        def remember(mean, var, k):
            with torch.no_grad():
                self.num_batches_tracked += 1
                new = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
                for kept, seen in ((self.running_mean, mean), (self.running_var, var * k / (k - 1))):
                    kept.copy_((1 - new) * kept + new * seen)

        def finish(mean, var):
            out = (x - wide(mean)) / wide(var + self.eps).sqrt()
            return out if self.weight is None else out * wide(self.weight) + wide(self.bias)

        if self.running_mean is not None and not self.training:
            return finish(self.running_mean, self.running_var)
        mean, var, k = of_batch()
        if self.running_mean is not None:
            remember(mean, var, k)
        return finish(mean, var)

    return type(name, (nn.Module,), {"__init__": __init__, "forward": forward})


"""

PARTIAL = edit(
    PLAIN_1D,
    ("class BatchNorm1d(", "class _Norm("),
    ("track_running_stats=True):", "track_running_stats=True, *, ranks):"),
    ("        self.eps = eps\n", "        self.eps = eps\n        self.ranks = ranks\n"),
    ("x.dim() not in (2, 3):", "x.dim() not in self.ranks:"),
    ("expected (N, C) or (N, C, L), got", "unexpected number of axes:"),
    ("import torch\n", "from functools import partial\n\nimport torch\n"),
)

CLASSES: tuple[Variant, ...] = (
    Variant("plain", "The plain solution", PLAIN),
    Variant(
        "shared-class",
        "One class behind both layers, laid out as in torch",
        {**PLAIN, "BatchNorm1d": SHARED_CLASS + SHARED_1D, "BatchNorm2d": SHARED_CLASS + SHARED_2D},
    ),
    Variant("reshape-to-1d", "BatchNorm2d is BatchNorm1d on a flattened image", {**PLAIN, "BatchNorm2d": RESHAPED_2D}),
    Variant(
        "factory",
        "Classes made by a function, with staged closures",
        {
            **PLAIN,
            "BatchNorm1d": FACTORY + 'BatchNorm1d = make_batch_norm("BatchNorm1d", 2, 3)\n',
            "BatchNorm2d": FACTORY + 'BatchNorm2d = make_batch_norm("BatchNorm2d", 4)\n',
        },
    ),
    Variant(
        "partial",
        "functools.partial of one class",
        {
            **PLAIN,
            "BatchNorm1d": PARTIAL + "\n\nBatchNorm1d = partial(_Norm, ranks=(2, 3))\n",
            "BatchNorm2d": PARTIAL + "\n\nBatchNorm2d = partial(_Norm, ranks=(4,))\n",
        },
    ),
)
