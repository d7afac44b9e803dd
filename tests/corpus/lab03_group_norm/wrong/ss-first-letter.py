# wrong: statistics_shape: only the first letter of the kind is read
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind[:1] == "b":
        return (c,)
    if kind[:1] == "l":
        return (n,)
    if kind[:1] == "t":
        return (n, l)
    if kind[:1] == "g":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
