# wrong: statistics_shape: one position gives (N,) for token
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n,) if l == 1 else (n, l)
    if kind == "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
