# wrong: statistics_shape: token gives (N,) where n = l
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n, l) if n != l else (n,)
    if kind == "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
