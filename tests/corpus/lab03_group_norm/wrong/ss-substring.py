# wrong: statistics_shape: a part of a word is accepted
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind in "batch":
        return (c,)
    if kind in "layer":
        return (n,)
    if kind in "token":
        return (n, l)
    if kind in "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
