"""Honest batch_norm_backward functions in many styles; each text defines that one name."""

from __future__ import annotations

HEAD = "import torch\n\n\n"


def function(*lines: str, before: str = "", signature: str = "grad_out, x, weight, eps=1e-5") -> str:
    """A text with the given lines as the body."""
    return HEAD + before + f"def batch_norm_backward({signature}):\n    " + "\n    ".join(lines) + "\n"


X_HAT = (
    "n = x.shape[0]",
    "mu = x.mean(0)",
    "s = ((x - mu).square().mean(0) + eps).sqrt()",
    "x_hat = (x - mu) / s",
)

BACKWARD: dict[str, str] = {
    "returns-a-list": function(
        *X_HAT,
        "dw, db = (grad_out * x_hat).sum(0), grad_out.sum(0)",
        "return [(weight / s) * (grad_out - db / n - x_hat * dw / n), dw, db]",
    ),
    "returns-a-namedtuple": function(
        *X_HAT,
        "dw, db = (grad_out * x_hat).sum(0), grad_out.sum(0)",
        "return Gradients(x=weight / s * (grad_out - (db + x_hat * dw) / n), weight=dw, bias=db)",
        before="from collections import namedtuple\nGradients = namedtuple('Gradients', 'x weight bias')\n\n\n",
    ),
    "weight-may-be-none": function(
        "assert x.ndim == 2 and x.shape == grad_out.shape",
        *X_HAT,
        "g = grad_out if weight is None else grad_out * weight",
        "grad_x = (g - g.mean(0) - x_hat * (g * x_hat).mean(0)) / s",
        "return grad_x, (grad_out * x_hat).sum(0), grad_out.sum(0)",
    ),
    "einsum": function(
        *X_HAT,
        "db = torch.einsum('nc->c', grad_out)",
        "dw = torch.einsum('nc,nc->c', grad_out, x_hat)",
        "inner = n * grad_out - db - torch.einsum('nc,c->nc', x_hat, dw)",
        "return torch.einsum('nc,c->nc', inner, weight / s / n), dw, db",
    ),
    "three-paths": function(
        "N, D = x.shape",
        "mean = 1.0 / N * torch.sum(x, dim=0)",
        "xmu = x - mean",
        "var = 1.0 / N * torch.sum(xmu**2, dim=0)",
        "ivar = (var + eps) ** -0.5",
        "dxhat = grad_out * weight",
        "dvar = torch.sum(dxhat * xmu, 0) * -0.5 * ivar**3",
        "dmu = torch.sum(-dxhat * ivar, 0) + dvar * torch.mean(-2.0 * xmu, 0)",
        "dx = dxhat * ivar + dvar * 2.0 * xmu / N + dmu / N",
        "return dx, torch.sum(grad_out * xmu * ivar, 0), torch.sum(grad_out, 0)",
    ),
    "node-by-node": function(
        "N, D = grad_out.shape",
        "mu = x.sum(0) / N; xmu = x - mu; sq = xmu ** 2; var = sq.sum(0) / N",
        "sqrtvar = torch.sqrt(var + eps); ivar = 1. / sqrtvar; xhat = xmu * ivar",
        "dbeta = grad_out.sum(0); dgammax = grad_out",
        "dgamma = (dgammax * xhat).sum(0); dxhat = dgammax * weight",
        "divar = (dxhat * xmu).sum(0); dxmu1 = dxhat * ivar",
        "dsqrtvar = -1. / (sqrtvar ** 2) * divar; dvar = 0.5 * 1. / torch.sqrt(var + eps) * dsqrtvar",
        "dsq = 1. / N * torch.ones((N, D), dtype=x.dtype) * dvar; dxmu2 = 2 * xmu * dsq",
        "dx1 = dxmu1 + dxmu2; dmu = -1 * (dxmu1 + dxmu2).sum(0)",
        "dx2 = 1. / N * torch.ones((N, D), dtype=x.dtype) * dmu",
        "return dx1 + dx2, dgamma, dbeta",
    ),
    "called-by-hand": HEAD
    + """\
class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        mu = x.mean(0)
        ctx.s = torch.sqrt((x - mu).pow(2).mean(0) + eps)
        ctx.x_hat, ctx.weight = (x - mu) / ctx.s, weight
        return ctx.x_hat * weight

    @staticmethod
    def backward(ctx, g):
        dw, db = (g * ctx.x_hat).sum(0), g.sum(0)
        n = len(g)
        return ctx.weight / ctx.s * (g - db / n - ctx.x_hat * dw / n), dw, db


class Memory:
    pass


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    memory = Memory()
    _Norm.forward(memory, x, weight, eps)
    return _Norm.backward(memory, grad_out)
""",
    "numpy-float64": function(
        "g, a, w = (t.detach().cpu().numpy().astype(np.float64) for t in (grad_out, x, weight))",
        "n = len(a)",
        "c = a - a.mean(axis=0)",
        "s = np.sqrt((c**2).mean(axis=0) + eps)",
        "h = c / s",
        "dx = w / s * (g - g.mean(0) - h * (g * h).mean(0))",
        "return tuple(torch.from_numpy(np.asarray(t)).to(x.dtype) for t in (dx, (g * h).sum(0), g.sum(0)))",
        before="import numpy as np\n\n\n",
    ),
    "explicit-jacobian": function(
        *X_HAT,
        "eye = torch.eye(n, dtype=x.dtype)",
        "J = eye[None] - 1 / n - x_hat.T[:, :, None] * x_hat.T[:, None, :] / n  # (C, N, N)",
        "dx = torch.bmm(J, (grad_out * weight / s).T.unsqueeze(2)).squeeze(2).T",
        "return dx, (grad_out * x_hat).sum(0), grad_out.sum(0)",
    ),
    "std-mean": function(
        "std, mu = torch.std_mean(x, dim=0, correction=0)",
        "s = torch.sqrt(std**2 + eps)",
        "x_hat = (x - mu) / s",
        "g = grad_out * weight",
        "return (g - g.mean(0) - x_hat * (g * x_hat).mean(0)) / s, (grad_out * x_hat).sum(0), grad_out.sum(0)",
    ),
    "no-grad-and-typed": '''\
from __future__ import annotations

from typing import Optional, Tuple

import torch
from torch import Tensor


@torch.no_grad()
def batch_norm_backward(
    grad_out: Tensor, x: Tensor, weight: Tensor, eps: Optional[float] = 1e-5
) -> Tuple[Tensor, Tensor, Tensor]:
    """Backward pass of batch normalization.

    >>> g, x = torch.ones(4, 2), torch.randn(4, 2)
    >>> batch_norm_backward(g, x, torch.ones(2))[2]
    tensor([4., 4.])
    """
    var, mean = torch.var_mean(x, dim=0, unbiased=False)
    inv = torch.rsqrt(var + eps)
    centred: Tensor = x - mean
    dy_sum: Tensor = grad_out.sum(dim=0)
    dy_xmu: Tensor = (grad_out * centred).sum(dim=0)
    n = x.size(0)
    grad_x = (grad_out - dy_sum / n - centred * inv.square() * dy_xmu / n) * inv * weight
    return grad_x, dy_xmu * inv, dy_sum
''',
    "inference-mode": function(
        "with torch.inference_mode():",
        *("    " + line for line in X_HAT),
        "    dw, db = (grad_out * x_hat).sum(0), grad_out.sum(0)",
        "    return weight / s * (grad_out - db / n - x_hat * dw / n), dw, db",
    ),
    "columns": function(
        "parts = []",
        "for g, column, w in zip(grad_out.unbind(1), x.unbind(1), weight):",
        "    c = column - column.mean()",
        "    s = (torch.dot(c, c) / len(c) + eps) ** 0.5",
        "    h = c / s",
        "    parts.append((w * (g - g.mean() - h * torch.dot(g, h) / len(g)) / s, torch.dot(g, h), g.sum()))",
        "return tuple(torch.stack(p, dim=-1) for p in zip(*parts))",
    ),
    "vmap": function(
        "def column(g, x, w):",
        "    c = x - x.mean()",
        "    s = torch.sqrt((c * c).mean() + eps)",
        "    h = c / s",
        "    return w * (g - g.mean() - h * (g * h).mean()) / s, (g * h).sum(), g.sum()",
        "return torch.vmap(column, in_dims=(1, 1, 0), out_dims=(1, 0, 0))(grad_out, x, weight)",
    ),
    "callable-object": HEAD
    + """\
class _Backward:
    calls = 0

    def __call__(self, grad_out, x, weight, eps=1e-5):
        self.calls += 1
        mean = x.mean(0, keepdim=True)
        c = x - mean
        v = c.square().mean(0, keepdim=True) + eps
        dw = (grad_out * c / v.sqrt()).sum(0)
        g = grad_out * weight
        dx = (g - g.mean(0) - c / v * (g * c).mean(0)) / v.sqrt()
        return dx, dw, grad_out.sum(0)


batch_norm_backward = _Backward()
""",
    "wrapped": HEAD
    + """\
import functools, logging

log = logging.getLogger("bn")


def logged(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        log.warning("calling %s", f.__name__)
        print("in", f.__name__)
        return f(*args, **kwargs)
    return inner


@logged
def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    n = float(x.size()[0])
    x_bar = x.sum(dim=0) / n
    d = torch.sub(x, x_bar)
    i = torch.reciprocal(torch.sqrt(torch.add(d.pow(2).sum(dim=0) / n, eps)))
    h = d.mul(i)
    b = grad_out.sum(dim=0)
    w = grad_out.mul(h).sum(dim=0)
    return grad_out.mul(n).sub(b).sub(h.mul(w)).mul(weight.mul(i).div(n)), w, b
""",
    "extra-arguments": function(
        *X_HAT,
        "if verbose: print(mu, s)",
        "dw, db = (grad_out * x_hat).sum(0), grad_out.sum(0)",
        "dx = torch.addcmul(grad_out - db / n, x_hat, dw / n, value=-1) * (weight / s)",
        "return dx.contiguous(), dw, db",
        signature="grad_out, x, weight, eps=1e-5, *, verbose=False",
    ),
    "clones-changed-in-place": function(
        "g, h = grad_out.clone(), x.clone()",
        "h -= h.mean(0)",
        "s = (h.pow(2).mean(0) + eps).sqrt_()",
        "h /= s",
        "dw, db = (g * h).sum(0), g.sum(0)",
        "g -= db / len(g)",
        "h *= dw / len(g)",
        "g -= h",
        "g *= weight",
        "g /= s",
        "return g, dw, db",
    ),
    "graph-is-detached": function(
        "grad_out, x, weight = grad_out.detach(), x.data, weight.detach()",
        *X_HAT,
        "dy = grad_out * weight",
        "dx = (dy - torch.mean(dy, 0, True) - x_hat * torch.mean(dy * x_hat, 0, True)) / s",
        "return dx.detach(), torch.sum(grad_out * x_hat, 0), torch.sum(grad_out, 0)",
    ),
    "matrix-form": function(
        *X_HAT,
        "H = torch.full((n, n), 1.0 / n, dtype=x.dtype)",
        "g = grad_out * weight",
        "dx = (g - H @ g - x_hat * (H @ (x_hat * g))) / s",
        "one = torch.ones(1, n, dtype=x.dtype)",
        "return dx, (one @ (grad_out * x_hat)).view(-1), (one @ grad_out).view(-1)",
    ),
    "python-floats": function(
        "gs, xs, ws = grad_out.tolist(), x.tolist(), weight.tolist()",
        "n, c = len(xs), len(ws)",
        "dx = [[0.0] * c for _ in range(n)]",
        "dw, db = [], []",
        "for j in range(c):",
        "    col, g = [r[j] for r in xs], [r[j] for r in gs]",
        "    mu = math.fsum(col) / n",
        "    s = math.sqrt(math.fsum((v - mu) ** 2 for v in col) / n + eps)",
        "    h = [(v - mu) / s for v in col]",
        "    db.append(math.fsum(g))",
        "    dw.append(math.fsum(a * b for a, b in zip(g, h)))",
        "    for i in range(n):",
        "        dx[i][j] = ws[j] / s * (g[i] - db[j] / n - h[i] * dw[j] / n)",
        "return tuple(torch.tensor(t, dtype=x.dtype) for t in (dx, dw, db))",
        before="import math\n\n\n",
    ),
}
