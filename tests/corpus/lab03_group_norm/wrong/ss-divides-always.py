# wrong: statistics_shape: num_groups is checked for kinds that ignore it
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if num_groups is not None and c % num_groups:
        raise ValueError("not divisible")
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n, l)
    if kind == "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
