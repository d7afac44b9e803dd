"""How much does one example depend on the others in its batch? The reference answers of lab 4, written to be read.

Every function here looks at a layer in training mode and leaves it as it was: the layer that runs is a copy, so modes, running
statistics, hooks and gradients of the original cannot move. Shapes: C features, m examples in a batch, K batches that hold the
same example x0 in their first row and other companions below it.

They measure; they know nothing of any particular layer. What comes out for batch, layer and group norm is said in the notebook.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn


def printed_stability(m: int) -> float:
    """Return sqrt(m / (m - 1)): the unbiased standard deviation of m values whose biased variance is 1.

    It is what the first version of this lab printed for batch norm, whatever the data.

    Raises:
        ValueError: for m < 2, where batch norm refuses the batch in training mode.
    """
    if m < 2:
        raise ValueError(f"batch norm needs two values per feature in training mode; {m} was given")
    return math.sqrt(m / (m - 1))


def outputs_with_companions(layer: nn.Module, x0: Tensor, companions: Tensor) -> Tensor:
    """Return what the layer makes of x0 in training mode, once for each set of companions.

    x0 (C,), companions (K, m - 1, C) -> (K, D), where the layer takes (m, C) to (m, D).
    """
    training = copy.deepcopy(layer).train()
    with torch.no_grad():
        return torch.stack([training(_batch(x0, others))[0] for others in companions])  # (K, D)


def spread(outputs: Tensor) -> float:
    """Return the root of the mean over features of the biased variance over the K draws: outputs (K, D) -> a number."""
    centred = outputs - outputs.mean(0)  # (K, D)
    return centred.square().mean(0).mean().sqrt().item()


def input_gradients(layer: nn.Module, x0: Tensor, companions: Tensor, grad_out: Tensor) -> Tensor:
    """Return the gradient of sum(grad_out * y0) with respect to x0 alone, once for each set of companions.

    y0 is the row that belongs to x0, in training mode. x0 (C,), companions (K, m - 1, C), grad_out (D,) -> (K, C).
    """
    training = copy.deepcopy(layer).train()
    rows = []
    for others in companions:
        leaf = x0.detach().clone().requires_grad_()  # (C,)
        loss = (training(_batch(leaf, others))[0] * grad_out).sum()
        rows += torch.autograd.grad(loss, leaf)
    return torch.stack(rows)  # (K, C)


def leak(layer: nn.Module, x: Tensor, i: int, j: int, grad_out: Tensor) -> float:
    """Return the length of the gradient of sum(grad_out * y[i]) with respect to x[j], in training mode; x (m, C)."""
    leaf = x.detach().clone().requires_grad_()  # (m, C)
    loss = (copy.deepcopy(layer).train()(leaf)[i] * grad_out).sum()
    (gradient,) = torch.autograd.grad(loss, leaf)  # (m, C)
    return gradient[j].norm().item()


def stability_table(
    layers: Mapping[str, nn.Module], x0: Tensor, companions: Sequence[Tensor], grad_out: Tensor | None = None
) -> Tensor:
    """Return the spread of x0's outputs, or with grad_out of its gradients: one row a layer, one column a batch size.

    companions holds one (K, m - 1, C) tensor for each batch size. An entry is nan where the layer refuses the batch with a
    ValueError; any other exception passes through. The table has the dtype of x0.
    """

    def entry(layer: nn.Module, others: Tensor) -> float:
        try:
            if grad_out is None:
                return spread(outputs_with_companions(layer, x0, others))
            return spread(input_gradients(layer, x0, others, grad_out))
        except ValueError:
            return math.nan

    rows = [[entry(layer, others) for others in companions] for layer in layers.values()]
    return torch.tensor(rows, dtype=x0.dtype)  # (layers, sizes)


def _batch(x0: Tensor, others: Tensor) -> Tensor:
    return torch.cat([x0.unsqueeze(0), others])  # (m, C)
