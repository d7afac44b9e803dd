# wrong: statistics_shape: the short names bn, ln and gn are accepted
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    kind = {"bn": "batch", "ln": "layer", "gn": "group"}.get(kind, kind)
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n, l)
    if kind == "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
