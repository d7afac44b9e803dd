"""A submission that is wrong in a way the example lab knows, in words that stand in none of its files."""

import torch


def unit_length(x, eps=1e-12):
    squares = torch.einsum("nc,nc->n", x, x)
    factor = 1 / (squares**0.5 + eps)
    return factor[:, None] * x
