# wrong: statistics_shape: an empty word is taken for batch
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if not kind or kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n, l)
    if kind == "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
