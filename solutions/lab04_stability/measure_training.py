"""A fair sweep over batch sizes: training on given batches, the error in both modes, a summary over seeds.

The reference answers of lab 4's second half. Nothing here draws a random number: which examples stand in which batch is an
argument, so that two networks can be trained on the very same batches.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


def train_on_batches(model: nn.Module, x: Tensor, classes: Tensor, batches: Sequence[Tensor], lr: float) -> list[float]:
    """Do one step of plain gradient descent for each batch of indices; return the loss of each batch before its step.

    x (n, C), classes (n,) of int64, each batch (m,) of int64. The model is trained in training mode, in place, and gets
    back the modes that it came with.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.train()
    losses = []
    for batch in batches:
        model.zero_grad()
        loss = functional.cross_entropy(model(x[batch]), classes[batch])
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= lr * parameter.grad
        losses.append(loss.item())
    for module, mode in modes:
        module.training = mode
    return losses


def error_rate(model: nn.Module, x: Tensor, classes: Tensor, batch_size: int | None = None) -> float:
    """Return the share of wrong answers: in evaluation mode, or in training mode in consecutive batches of a size.

    The last batch is left out if it is smaller than the others. The model stays as it was; x (n, C), classes (n,).
    """
    model = copy.deepcopy(model).train(batch_size is not None)
    size = len(x) if batch_size is None else batch_size
    wrong, seen = 0, 0
    with torch.no_grad():
        for start in range(0, len(x) - size + 1, size):
            answers = model(x[start : start + size]).argmax(1)  # (size,)
            wrong += int((answers != classes[start : start + size]).sum())
            seen += size
    return wrong / seen


def seed_summary(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the unbiased standard deviation over the seeds: values (seeds, sizes) -> (sizes,), (sizes,).

    Of one seed the standard deviation is nan: one run says nothing about how far runs lie apart.
    """
    mean = values.mean(0)  # (sizes,)
    squares = (values - mean).square().sum(0)  # (sizes,)
    return mean, (squares / (len(values) - 1)).sqrt()
