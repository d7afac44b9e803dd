# wrong: statistics_shape: one sample with as many groups as channels gives (C,)
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n, l)
    if kind == "group":
        return (c,) if num_groups == c and n == 1 else (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
