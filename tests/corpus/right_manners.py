"""Honest files whose code is plain and whose manners are not: what stands around the three names. {} is where they stand."""

# ruff: noqa: E501 - sources in one line each

from __future__ import annotations

DEMO = """

if __name__ == "__main__":
    torch.manual_seed(0)
    mine, theirs = BatchNorm1d(4), nn.BatchNorm1d(4)
    data = torch.randn(16, 4)
    assert torch.allclose(mine(data), theirs(data), atol=1e-5)
    print("ok", mine.running_mean, theirs.running_mean)
"""

MANNERS: dict[str, str] = {
    "demo-with-torch-as-oracle": "{}" + DEMO,
    "oracle-tests": """\
{}

import torch.nn.functional as F


def test_forward():
    x = torch.randn(8, 3, 5, 2)
    assert torch.allclose(BatchNorm2d(3)(x), nn.BatchNorm2d(3)(x), atol=1e-5)
    assert torch.allclose(BatchNorm2d(3)(x), F.batch_norm(x, None, None, training=True), atol=1e-5)


def test_backward():
    x = torch.randn(6, 3, requires_grad=True)
    w = torch.randn(3)
    g = torch.randn(6, 3)
    F.batch_norm(x, None, None, w, None, training=True).backward(g)
    assert torch.allclose(batch_norm_backward(g, x.detach(), w)[0], x.grad, atol=1e-5)


class Oracle(nn.BatchNorm1d):
    pass


test_forward(), test_backward()
""",
    "asserts-that-fail": "assert 1 == 2, 'todo'\n\n{}\n\nassert BatchNorm1d(2)(torch.zeros(3, 2)).sum() == 7, 'my test is wrong'\n",
    "missing-imports": "import tensorflow as tf\nfrom my_course_utils import plot_everything\n\n{}\n\nplot_everything(BatchNorm1d)\n",
    "default-dtype-double": "import torch\ntorch.set_default_dtype(torch.float64)\n{}",
    "gradients-off": "{}\n\ntorch.set_grad_enabled(False)\nprint(BatchNorm1d(2)(torch.randn(3, 2)))\n",
    "warnings-are-errors": "import warnings\nwarnings.simplefilter('error')\n{}",
    "numpy-raises": "import numpy as np\nnp.seterr(all='raise')\nnp.random.seed(1)\n{}",
    "threads-and-seeds": "import os, random, torch\ntorch.set_num_threads(2)\nrandom.seed(0)\ntorch.manual_seed(42)\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\ntorch.use_deterministic_algorithms(True)\ntorch.autograd.set_detect_anomaly(True)\n{}",
    "default-device": "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\ntorch.set_default_device(device)\n{}",
    "defined-twice": """\
import torch
from torch import nn


class BatchNorm1d(nn.BatchNorm1d):
    pass  # first attempt, replaced below


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    raise NotImplementedError


{}
""",
    "windows-line-ends": "{}",
    "old-mac-line-ends": "{}",
    "form-feeds": "# part one\n\x0c\nimport torch\n\x0c\n\n{}\n\x0c\n# the end \u2028 of it\nprint('\x0c')\n",
    "line-separators-in-text": "note = 'a\u2028b\u2029c\x85d'  # pasted from a web page\n'''more\u2028text\x0b'''\n{}",
    "magics": """\
get_ipython().run_line_magic('matplotlib', 'inline')
get_ipython().system('pip --version')
# In[1]:
{}
# In[ ]:
get_ipython().run_line_magic('timeit', '-n1 -r1 1 + 1')
""",
    "raw-magics": "%matplotlib inline\n!echo hello\n{}\n%timeit -n1 -r1 1 + 1\n",
    "python-2-print": "{}\n\nprint 'done'\n",
    "broken-line-before": "x = = 3\n{}\nfoo(]\n",
    "notes-at-the-margin": '''\
"""
for all x in the batch:
x = x - mean
class notes, page 3
"""
{}

def later(:
    pass

text = """
import this is not Python
def nor this
"""
''',
    "long-lines": "numbers = [" + ", ".join(map(str, range(5000))) + "]\n{}\n# " + "x" * 20000 + "\n",
    "hidden-globals": "globals_ = globals()\nlist = [1, 2]\ndict = {}\nsum = max\ntype_ = type\n{}\n".replace(
        "= {}\n", "= {{}}\n", 1
    ),
    "star-imports": "from numpy import *\nfrom math import *\n{}",
    "logging-and-main": """\
import argparse
import logging
import sys

logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
{}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
""",
    "plots": """\
{}

import matplotlib.pyplot as plt

fig, ax = plt.subplots()
ax.hist(BatchNorm1d(1)(torch.randn(100, 1)).detach().numpy().ravel(), bins=20)
plt.show()
plt.savefig("/nowhere/at/all.png")
""",
    "asserts-that-pass": "{}\n\nfor _ in range(3):\n    assert BatchNorm2d(2)(torch.randn(2, 2, 3, 3)).shape == (2, 2, 3, 3)\n",
    "cells-marked": '"""Lab 1"""\n# %% [markdown]\n# # My solution\n# %%\n{}\n# %%\nBatchNorm1d(3)\n',
    "patched-printing": "import builtins, torch\ntorch.set_printoptions(precision=2, sci_mode=False)\nprint = lambda *a, **k: None\nbuiltins.print('x')\n{}",
    "unittest": """\
import unittest
{}


class Tests(unittest.TestCase):
    def test_shape(self):
        self.assertEqual(BatchNorm1d(2)(torch.zeros(3, 2)).shape, (3, 2))

    def test_wrong(self):
        self.fail("not today")


unittest.main(argv=["x"])
""",
    "docstring-and-future": '"""My lab.\n\nclass of 2026\n"""\n\nfrom __future__ import annotations\n\n__author__ = "me"\n__all__ = ["BatchNorm1d", "BatchNorm2d", "batch_norm_backward"]\n\n{}',
    "training-run": """\
{}

net = nn.Sequential(nn.Linear(4, 8), BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=0.1)
for step in range(5):
    optimizer.zero_grad()
    loss = net(torch.randn(16, 4)).square().mean()
    loss.backward()
    optimizer.step()
net.eval()
net(torch.zeros(1, 4))
""",
    "removed-imports": "{}\n",
    "inference-left-on": "{}\n\nguard = torch.inference_mode()\nguard.__enter__()\n",
    "random-hash-names": "{}\n\nx = y = m = net = result = draw = run = answer = check = None\n",
}


def file(ident: str, code: str) -> str:
    """The file with the three names in the middle."""
    text = MANNERS[ident]
    text = text.replace("{{}}", "\0").replace("{}", code, 1).replace("\0", "{}")
    if ident == "windows-line-ends":
        return text.replace("\n", "\r\n")
    if ident == "old-mac-line-ends":
        return text.replace("\n", "\r")
    return text
