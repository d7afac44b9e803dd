"""Layers in which torch's own normalization does the work, in hiding: {id: (exercise, whole source of that name)}."""

# ruff: noqa: E501 - sources in one line each

from __future__ import annotations

from right_layers import HEAD, TAIL

WRONG: dict[str, tuple[str, str]] = {}


def hidden(ident: str, call: str, before: str = "", dims: int = 1) -> None:
    """A layer whose output is `call`, an expression of x, self, training, weight, bias, mean and var."""
    body = f"""\
    def forward(self, x):
        self.check(x)
        training = self.from_batch
        weight, bias, mean, var = self.weight, self.bias, self.running_mean, self.running_var
        if self.training and mean is not None:
            axes = [a for a in range(x.ndim) if a != 1]
            m = x.numel() / x.shape[1]
            self.remember(x.mean(axes), x.var(axes, correction=0), m)
        mean, var = (None, None) if training else (mean.clone(), var.clone())
        return {call}
"""
    other = "BatchNorm2d" if dims == 1 else "BatchNorm1d"
    WRONG[f"{ident}-{dims}d"] = (f"BatchNorm{dims}d", before + HEAD + body + TAIL + f"\n\ndel {other}\n")


ARGUMENTS = "(x, mean, var, weight, bias, training, 0.0, self.eps)"
hidden("functional", "torch.nn.functional.batch_norm" + ARGUMENTS)
hidden("alias", "norm" + ARGUMENTS, "from torch.nn.functional import batch_norm as norm\n", 2)
hidden("getattr", "getattr(torch.nn.functional, 'batch' + '_norm')" + ARGUMENTS)
hidden(
    "importlib",
    "importlib.import_module('torch.nn.functional').__dict__['batch_norm']" + ARGUMENTS,
    "import importlib\n",
    2,
)
hidden("eval", "eval('torch.nn.functional.batch' + '_norm')" + ARGUMENTS)
hidden("torch-batch-norm", "torch.batch_norm(x, weight, bias, mean, var, training, 0.0, self.eps, False)", "", 2)
hidden("native", "torch.native_batch_norm(x, weight, bias, mean, var, training, 0.0, self.eps)[0]")
hidden(
    "aten", "torch.ops.aten.native_batch_norm.default(x, weight, bias, mean, var, training, 0.0, self.eps)[0]", "", 2
)
hidden(
    "variable-functions",
    "torch._C._VariableFunctions.batch_norm(x, weight, bias, mean, var, training, 0.0, self.eps, False)",
)
hidden(
    "legit",
    "torch.ops.aten._native_batch_norm_legit.no_stats(x, weight, bias, True, 0.0, self.eps)[0] if training else torch.nn.functional.batch_norm"
    + ARGUMENTS,
    "",
    2,
)
hidden("instance-norm", "(torch.instance_norm(x.transpose(0, 1).reshape(1, x.shape[1], -1), None, None, None, None, True, 0.0, self.eps, False)"
       ".reshape(x.transpose(0, 1).shape).transpose(0, 1) * (weight.view(-1, *[1] * (x.ndim - 2)) if self.affine else 1) + (bias.view(-1, *[1] * (x.ndim - 2)) if self.affine else 0))"
       " if training else torch.nn.functional.batch_norm" + ARGUMENTS)  # fmt: skip
hidden("group-norm", "(torch.group_norm(x.transpose(0, 1).reshape(1, x.shape[1], -1), x.shape[1], None, None, self.eps)"
       ".reshape(x.transpose(0, 1).shape).transpose(0, 1) * (weight.view(-1, *[1] * (x.ndim - 2)) if self.affine else 1) + (bias.view(-1, *[1] * (x.ndim - 2)) if self.affine else 0))"
       " if training else torch.nn.functional.batch_norm" + ARGUMENTS, "", 2)  # fmt: skip
hidden("functional-call", "torch.func.functional_call(torch.nn.BatchNorm1d(x.shape[1], eps=self.eps, affine=False, track_running_stats=False), {}, (x,))"
       " * (weight.view([1, -1] + [1] * (x.ndim - 2)) if self.affine else 1) + (bias.view([1, -1] + [1] * (x.ndim - 2)) if self.affine else 0)"
       " if training else torch.nn.functional.batch_norm" + ARGUMENTS)  # fmt: skip
hidden(
    "scripted",
    "_norm" + ARGUMENTS,
    "import torch\n_norm = torch.jit.trace(lambda x: torch.nn.functional.batch_norm(x, None, None, training=True), torch.rand(3, 2))\n_norm = torch.nn.functional.batch_norm\n",
    2,
)
hidden("in-a-thread", "_in_a_thread(torch.nn.functional.batch_norm, " + ARGUMENTS[1:], """\
from concurrent.futures import ThreadPoolExecutor


def _in_a_thread(f, *args):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(f, *args).result()


""")  # fmt: skip
hidden("waiting-thread", "POOL.submit(torch.nn.functional.batch_norm, " + ARGUMENTS[1:] + ".result()", """\
from concurrent.futures import ThreadPoolExecutor

POOL = ThreadPoolExecutor(1)
POOL.submit(print).result()


""", 2)  # fmt: skip
hidden("custom-operator", "torch.ops.mine.norm(x, weight, bias, mean, var, training, self.eps)", """\
import torch

if not hasattr(torch.ops.mine, "norm"):
    LIBRARY = torch.library.Library("mine", "DEF")
    LIBRARY.define("norm(Tensor x, Tensor? w, Tensor? b, Tensor? m, Tensor? v, bool t, float e) -> Tensor")
    LIBRARY.impl("norm", lambda x, w, b, m, v, t, e: torch.batch_norm(x, w, b, m, v, t, 0.0, e, False), "CompositeImplicitAutograd")


""")  # fmt: skip

for dims, base in ((1, "nn.BatchNorm1d"), (2, "nn.BatchNorm2d")):
    ranks = "(2, 3)" if dims == 1 else "(4,)"
    check = f"""\
        if x.dim() not in {ranks} or x.shape[1] != self.num_features:
            raise ValueError("shape")
"""
    name = f"BatchNorm{dims}d"
    WRONG[f"inherited-through-alias-{dims}d"] = (
        name,
        f"import torch\nfrom torch import nn\n\nBase = {base}\n\n\nclass {name}(Base):\n    def forward(self, x):\n{check}        return super().forward(x)\n",
    )
    WRONG[f"norm-base-{dims}d"] = (
        name,
        f"import torch\nfrom torch.nn.modules.batchnorm import _BatchNorm as B\n\n\nclass {name}(B):\n"
        f"    def _check_input_dim(self, x):\n{check}",
    )
    WRONG[f"assigned-{dims}d"] = (name, f"from torch import nn\n\n{name} = {base}\n")
    WRONG[f"imported-{dims}d"] = (name, f"from torch.nn import {name}\n")
    WRONG[f"constructor-returns-torch-{dims}d"] = (
        name,
        f"from torch import nn\n\n\nclass {name}(nn.Module):\n    def __new__(cls, *args, **kwargs):\n        return {base}(*args, **kwargs)\n",
    )
    WRONG[f"made-by-a-function-{dims}d"] = (
        name,
        f"from torch import nn\n\n\ndef {name}(*args, **kwargs):\n    return {base}(*args, **kwargs)\n",
    )
    WRONG[f"lazy-{dims}d"] = (
        name,
        f"from torch import nn\n\n\ndef {name}(c, *args, **kwargs):\n    return getattr(nn, 'LazyBatchNorm{dims}d')(*args, **kwargs)\n",
    )
    WRONG[f"class-changed-{dims}d"] = (
        name,
        f"from torch import nn\n\n\nclass {name}(nn.Module):\n    def __init__(self, *args, **kwargs):\n        super().__init__()\n"
        f"        layer = {base}(*args, **kwargs)\n        self.__dict__.update(layer.__dict__)\n        self.__dict__['hidden'] = layer\n\n"
        f"    def forward(self, x):\n{check}        return self.hidden(x) if self.training == self.hidden.training else self.hidden.train(self.training)(x)\n",
    )
    WRONG[f"name-taken-{dims}d"] = (
        name,
        f"from torch import nn\n\n\nclass {name}({base}):\n    pass\n\n\nfor cls in {name}.__mro__[:3]:\n    cls.__module__ = 'mine'\n",
    )
