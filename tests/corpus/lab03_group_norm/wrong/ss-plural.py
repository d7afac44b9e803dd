# wrong: statistics_shape: the prefix counts: 'groups' and 'tokens' are accepted
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind.startswith("batch"):
        return (c,)
    if kind.startswith("layer"):
        return (n,)
    if kind.startswith("token"):
        return (n, l)
    if kind.startswith("group"):
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
