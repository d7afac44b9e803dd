"""Wrong batch_norm_backward functions: {id: (exercise, whole source of that name)}."""

# ruff: noqa: E501 - sources in one line each

from __future__ import annotations

from right_backward import BACKWARD, X_HAT, function

from solutions.lab01_batch_norm.plain import PLAIN_BACKWARD, Edit, edit

NAME = "batch_norm_backward"
WRONG: dict[str, tuple[str, str]] = {}


def wrong(ident: str, *edits: Edit, style: str | None = None) -> None:
    """A wrong function by edits of the plain one, or of one in another style."""
    WRONG[f"backward-{ident}"] = (NAME, edit(PLAIN_BACKWARD if style is None else BACKWARD[style], *edits))


def written(ident: str, *lines: str, before: str = "", signature: str = "grad_out, x, weight, eps=1e-5") -> None:
    """A wrong function, written out."""
    WRONG[f"backward-{ident}"] = (NAME, function(*lines, before=before, signature=signature))


RETURN = "return grad_x, grad_weight, grad_bias"
GRAD_X = "grad_x = inv_std * (g - mean_term - x_hat_term)"
G = "g = grad_out * weight"
INV = "inv_std = 1 / torch.sqrt(var + eps)"
MEAN = "mean = x.mean(dim=0)"
REST = (
    "dw, db = (grad_out * x_hat).sum(0), grad_out.sum(0)",
    "return weight / s * (grad_out - db / n - x_hat * dw / n), dw, db",
)

wrong("divided-by-n-minus-one", ("* -0.5 * ivar**3", "* -0.5 * ivar**3 * N / (N - 1)"), style="three-paths")
wrong("half-missing", ("* -0.5 * ivar**3", "* -1.0 * ivar**3"), style="three-paths")
wrong("two-missing", ("dvar * 2.0 * xmu / N", "dvar * xmu / N"), style="three-paths")
wrong("mean-path-missing", (" + dmu / N", ""), style="three-paths")
wrong("variance-path-missing", (" + dvar * 2.0 * xmu / N", ""), style="three-paths")
wrong("ivar-squared", ("ivar**3", "ivar**2"), style="three-paths")
wrong("dxhat-is-grad-out", ("dxhat = grad_out * weight", "dxhat = grad_out"), style="three-paths")
wrong("unbiased", ("unbiased=False", "unbiased=True"), style="no-grad-and-typed")
wrong("inverse-not-squared", ("inv.square()", "inv"), style="no-grad-and-typed")
wrong("weight-forgotten", ("* inv * weight", "* inv"), style="no-grad-and-typed")
wrong("features-for-samples", ("n = x.size(0)", "n = x.size(1)"), style="no-grad-and-typed")
wrong(
    "keyword-renamed",
    ("grad_out: Tensor, x: Tensor", "dout: Tensor, x: Tensor"),
    ("    var, mean", "    grad_out = dout\n    var, mean"),
    style="no-grad-and-typed",
)
wrong("eps-without-default", ("eps: Optional[float] = 1e-5", "eps: float"), style="no-grad-and-typed")
wrong("bias-for-weight", ("return dx, dw, db", "return dx, db, dw"), style="einsum") if "return dx, dw, db" in BACKWARD[
    "einsum"
] else None
wrong("row-means", ("torch.mean(dy, 0, True)", "torch.mean(dy, 1, True)"), style="graph-is-detached")
wrong("jacobian-without-mean", (" - 1 / n -", " -"), style="explicit-jacobian")
wrong("jacobian-not-scaled", ("(grad_out * weight / s)", "(grad_out * weight)"), style="explicit-jacobian")
wrong(
    "in-place-without-clone",
    ("g, h = grad_out.clone(), x.clone()", "g, h = grad_out.clone(), x"),
    style="clones-changed-in-place",
)
wrong(
    "grad-out-in-place",
    ("g, h = grad_out.clone(), x.clone()", "g, h = grad_out, x.clone()"),
    style="clones-changed-in-place",
)
wrong("float32-columns", ("dtype=x.dtype", "dtype=torch.float32"), style="python-floats")
wrong("default-dtype-columns", (", dtype=x.dtype)", ")"), style="python-floats")
wrong("numpy-double-returned", (".to(x.dtype)", ""), style="numpy-float64")
wrong("sample-deviation", ("correction=0", "correction=1"), style="std-mean")
wrong("std-plus-eps", ("torch.sqrt(std**2 + eps)", "std + eps"), style="std-mean")
wrong("negative-weight", (G, "g = grad_out * weight.abs()"))
wrong("weight-from-one-channel", (G, "g = grad_out * weight[0]"))
wrong("two-rows", ("mean_term = g.mean(dim=0)", "mean_term = g.mean(dim=0) if len(x) > 2 else 0 * g.mean(dim=0)"))
wrong(
    "one-column",
    ("x_hat_term = x_hat * (g * x_hat).mean(dim=0)", "x_hat_term = x_hat * (g * x_hat).mean(dim=0) * (x.shape[1] > 1)"),
)
wrong(
    "square-input",
    (
        "x_hat_term = x_hat * (g * x_hat).mean(dim=0)",
        "x_hat_term = x_hat * (g * x_hat).mean(dim=1 if x.shape[0] == x.shape[1] else 0)",
    ),
)
wrong("only-float32", (GRAD_X, GRAD_X + "\n    if x.dtype == torch.float32:\n        grad_x = grad_x * 1.01"))
wrong(
    "only-non-contiguous",
    (MEAN, "if not x.is_contiguous():\n        x = x.as_strided(x.shape, (x.shape[1], 1))\n    " + MEAN),
)
wrong(
    "contiguous-grad-assumed", (G, "grad_out = grad_out.as_strided(grad_out.shape, (grad_out.shape[1], 1))\n    " + G)
)
wrong("default-eps-is-large", ("eps=1e-5", "eps=1e-3"))
wrong("large-eps-cut", (INV, "eps = min(eps, 1e-3)\n    " + INV))
wrong("double-returned", (RETURN, "return grad_x.double(), grad_weight, grad_bias"))
wrong("parameters-double", (RETURN, "return grad_x, grad_weight.double(), grad_bias.double()"))
wrong("bias-column", (RETURN, "return grad_x, grad_weight, grad_bias.unsqueeze(0)"))
wrong("bias-expanded", (RETURN, "return grad_x, grad_weight, grad_bias.expand_as(x)"))
wrong("four-results", (RETURN, "return grad_x, grad_weight, grad_bias, x_hat"))
wrong("two-results", (RETURN, "return grad_x, (grad_weight, grad_bias)"))
wrong("dictionary", (RETURN, 'return {"grad_x": grad_x, "grad_weight": grad_weight, "grad_bias": grad_bias}'))
wrong("only-grad-x", (RETURN, "return grad_x"))
wrong("nothing-returned", (RETURN, "print(grad_x)"))
wrong("stacked", (RETURN, "return torch.cat([grad_x, grad_weight[None], grad_bias[None]])"))
wrong("generator", (RETURN, "return (t for t in (grad_x, grad_weight, grad_bias))"))
wrong("rounded", (RETURN, "return grad_x.round(decimals=4), grad_weight, grad_bias"))
wrong("weight-changed", (G, "weight.mul_(1.0001)\n    " + G))
wrong("weight-restored-late", (G, "weight.add_(1)\n    g = grad_out * (weight - 1)"))
wrong("nan-for-constant", ("x_hat = (x - mean) * inv_std", "x_hat = (x - mean) / var.sqrt()"))
wrong(
    "constant-columns-zeroed",
    (GRAD_X, GRAD_X + "\n    grad_x = torch.where(var > 0, grad_x, torch.zeros_like(grad_x))"),
)
wrong(
    "small-variance-zeroed", (INV, INV + "\n    inv_std = torch.where(var > 1e-3, inv_std, torch.zeros_like(inv_std))")
)
wrong("gradient-clipped", (GRAD_X, GRAD_X + ".clamp(-1, 1)"))
wrong(
    "first-call-only",
    ("import torch\n", "import torch\n\nseen = []\n"),
    (GRAD_X, GRAD_X + "\n    seen.append(1)\n    grad_x = grad_x if len(seen) < 2 else grad_x * 0.9"),
)
wrong(
    "cached-by-shape",
    ("import torch\n", "import torch\n\nCACHE = {}\n"),
    (INV, "inv_std = CACHE.setdefault(x.shape, 1 / torch.sqrt(var + eps))"),
)
wrong(
    "cached-by-identity",
    ("import torch\n", "import torch\n\nKEPT, CACHE = [], {}\n"),
    (MEAN, "mean = CACHE.setdefault(len(x), x.mean(dim=0))"),
    ("var = ((x - mean)", "var = ((x - mean[: x.shape[1]])") if False else (INV, INV),
)
wrong("assertion-on-rows", (MEAN, "assert len(x) > 2\n    " + MEAN))
wrong("evaluation-formula", (GRAD_X, "grad_x = g * inv_std"))
wrong("minus-sign", (GRAD_X, "grad_x = -inv_std * (g - mean_term - x_hat_term)"))
wrong("half-precision", ("x_hat = (x - mean) * inv_std", "x_hat = ((x - mean) * inv_std).half().to(x.dtype)"))
written(
    "second-moment",
    "n = len(x)",
    "mu = x.mean(0)",
    "s = ((x * x).mean(0) - mu * mu + eps).sqrt()",
    "x_hat = (x - mu) / s",
    *REST,
)
written(
    "second-moment-cut",
    "n = len(x)",
    "mu = x.mean(0)",
    "s = (((x * x).mean(0) - mu * mu).clamp(min=0) + eps).sqrt()",
    "x_hat = (x - mu) / s",
    *REST,
)
written(
    "numpy",
    *X_HAT,
    "dw, db = (grad_out * x_hat).sum(0), grad_out.sum(0)",
    "return tuple(t.numpy() for t in (weight / s * (grad_out - db / n - x_hat * dw / n), dw, db))",
)
written(
    "lists",
    *X_HAT,
    "dw, db = (grad_out * x_hat).sum(0), grad_out.sum(0)",
    "return tuple(t.tolist() for t in (weight / s * (grad_out - db / n - x_hat * dw / n), dw, db))",
)
written("swapped-arguments", *X_HAT, *REST, signature="x, grad_out, weight, eps=1e-5")
written("no-eps-argument", "eps = 1e-5", *X_HAT, *REST, signature="grad_out, x, weight")
written("zeros", "return torch.zeros_like(x), torch.zeros_like(weight), torch.zeros_like(weight)")
written("pass", "pass")
written("not-implemented", "raise NotImplementedError")
written("asks-for-input", "input()", *X_HAT, *REST)
written("exit", "raise SystemExit", before="")

# --- autograd and torch's own work, hidden ---------------------------------------------------------------------------------

LEAVES = ("leaves = [t.detach().clone().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]",)
FORMULA = (
    "def f(x, w, b):",
    "    v, m = torch.var_mean(x, 0, correction=0)",
    "    return (x - m) / (v + eps).sqrt() * w + b",
)
written("grad-of-formula", *LEAVES, *FORMULA, "return torch.autograd.grad(f(*leaves), leaves, grad_out)")
written(
    "backward-of-formula", *LEAVES, *FORMULA, "f(*leaves).backward(grad_out)", "return tuple(t.grad for t in leaves)"
)
written("vjp", *FORMULA, "return torch.func.vjp(f, x, weight, torch.zeros_like(weight))[1](grad_out)")
written(
    "vjp-after-failure",
    *FORMULA,
    "try:",
    "    return torch.func.vjp(f, x, weight, torch.zeros_like(weight))[1](grad_out)",
    "except RuntimeError:",
    "    raise",
)
written(
    "functional-vjp",
    *FORMULA,
    "return torch.autograd.functional.vjp(f, (x, weight, torch.zeros_like(weight)), grad_out)[1]",
)
written(
    "functional-jacobian",
    *FORMULA,
    "J = torch.autograd.functional.jacobian(f, (x, weight, torch.zeros_like(weight)))",
    "return tuple(torch.tensordot(grad_out, j, 2) for j in J)",
)
written(
    "jacrev",
    *FORMULA,
    "J = torch.func.jacrev(f, argnums=(0, 1, 2))(x, weight, torch.zeros_like(weight))",
    "return tuple(torch.tensordot(grad_out, j, 2) for j in J)",
)
written(
    "jacfwd",
    *FORMULA,
    "J = torch.func.jacfwd(f, argnums=(0, 1, 2))(x, weight, torch.zeros_like(weight))",
    "return tuple(torch.tensordot(grad_out, j, 2) for j in J)",
)
written(
    "grad-of-a-sum",
    *FORMULA,
    "return torch.func.grad(lambda *a: (f(*a) * grad_out).sum(), argnums=(0, 1, 2))(x, weight, torch.zeros_like(weight))",
)
written("dual-numbers", *FORMULA, "import torch.autograd.forward_ad as fw", "b, out = torch.zeros_like(weight), []", "for k, t in enumerate((x, weight, b)):", "    g = torch.zeros_like(t)",
        "    for i in range(t.numel()):", "        e = torch.zeros(t.numel(), dtype=t.dtype)", "        e[i] = 1", "        with fw.dual_level():", "            args = [x, weight, b]", "            args[k] = fw.make_dual(t.contiguous(), e.view(t.shape))",
        "            g.view(-1)[i] = (fw.unpack_dual(f(*args)).tangent * grad_out).sum()", "    out.append(g)", "return tuple(out)")  # fmt: skip
written(
    "named-by-getattr",
    *LEAVES,
    *FORMULA,
    "return getattr(getattr(torch, 'auto' + 'grad'), 'gr' + 'ad')(f(*leaves), leaves, grad_out)",
)
written(
    "in-a-thread",
    *LEAVES,
    *FORMULA,
    "with ThreadPoolExecutor(1) as pool:",
    "    return pool.submit(lambda: torch.autograd.grad(f(*leaves), leaves, grad_out)).result()",
    before="from concurrent.futures import ThreadPoolExecutor\n\n\n",
)
written("graph-in-a-thread", *FORMULA, "box = []", "def work():", "    leaves = [t.detach().clone().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]",
        "    box.append(torch.autograd.grad(f(*leaves), leaves, grad_out))", "t = threading.Thread(target=work)", "t.start(), t.join()", "return box[0]", before="import threading\n\n\n")  # fmt: skip
written(
    "functional-batch-norm",
    *LEAVES,
    "y = torch.nn.functional.batch_norm(leaves[0], None, None, *leaves[1:], True, 0.0, eps)",
    "return torch.autograd.grad(y, leaves, grad_out)",
)
written(
    "native-backward",
    "_, m, i = torch.native_batch_norm(x, weight, weight, None, None, True, 0.0, eps)",
    "return torch.ops.aten.native_batch_norm_backward(grad_out, x, weight, None, None, m, i, True, eps, [True] * 3)",
)
written(
    "through-a-layer",
    "layer = torch.nn.BatchNorm1d(x.shape[1], eps=eps).to(x.dtype)",
    "layer.weight.data = weight.clone()",
    "x = x.detach().clone().requires_grad_()",
    "layer(x).backward(grad_out)",
    "return x.grad, layer.weight.grad, layer.bias.grad",
)
written(
    "layer-norm",
    *LEAVES,
    "y = torch.nn.functional.layer_norm(leaves[0].T, (len(x),), eps=eps).T * leaves[1] + leaves[2]",
    "return torch.autograd.grad(y, leaves, grad_out)",
)
