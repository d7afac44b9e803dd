"""Reference functions of lab 5, second half: the two modes of a network, its running statistics, and moving gradients.

`gradient_change` is the measure by which Santurkar et al. (2018, definition 2.1) ask for internal covariate shift: how far
the gradient of a layer moves when only the layers below it are updated.

This is not the grader; the first half (statistics over training) is `measure`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from solutions.lab05_normalization_effects.measure import linear_layers, loss_gradients


@torch.no_grad()
def train_eval_gap(model: nn.Module, x: Tensor, classes: Tensor) -> dict[str, float]:
    """Return what a model says about x with the statistics of x, and with its running statistics.

    "batch": mean cross-entropy in training mode; "running": in evaluation mode; "changed": the share of the examples
    whose predicted class is another one in the other mode. The model is left as it was.
    """
    tried = copy.deepcopy(model)
    evaluated = tried.eval()(x)  # (N, classes); first, since training mode moves the running statistics
    trained = tried.train()(x)  # (N, classes)
    return {
        "batch": F.cross_entropy(trained, classes).item(),
        "running": F.cross_entropy(evaluated, classes).item(),
        "changed": (trained.argmax(1) != evaluated.argmax(1)).double().mean().item(),
    }


@torch.no_grad()
def reestimate(model: nn.Module, batches: Sequence[Tensor]) -> None:
    """Put into each batch norm layer the plain averages of the statistics of these batches ("precise BN").

    running_mean = (1/B) sum_b mean_b,  running_var = (1/B) sum_b unbiased variance_b, each batch with weight 1/B whatever its
    size; all layers work in training mode meanwhile. num_batches_tracked is B. Parameters, modes and momentum stay.

    Raises:
        ValueError: if there are no batches.
    """
    if len(batches) == 0:
        raise ValueError("there are no batches to estimate anything from; give at least one")
    layers = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]
    modes, momenta = [(module, module.training) for module in model.modules()], [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # torch's word for the cumulative average
    model.train()
    for batch in batches:
        model(batch)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    for module, training in modes:
        module.training = training


def gradient_change(model: nn.Module, x: Tensor, classes: Tensor, layer: int, lr: float) -> dict[str, float]:
    """Return how the gradient G of a linear layer's weight changes when the parameters before it take one step of SGD.

    G is the gradient of the mean cross-entropy for the weight of linear layer number `layer` (from 0), G' the same on the same
    batch after p <- p - lr * dloss/dp for every parameter p that stands before that weight, and for no other:

    "norm": ||G||,  "change": ||G - G'||,  "cosine": <G, G'> / (||G|| ||G'||).

    Everything in training mode, on a copy: the model is left as it was.
    """
    moving = copy.deepcopy(model).train()
    parameters = list(moving.parameters())
    target = linear_layers(moving)[layer].weight
    place = next(number for number, parameter in enumerate(parameters) if parameter is target)
    before = loss_gradients(moving, x, classes)
    with torch.no_grad():
        for parameter, gradient in zip(parameters[:place], before[:place], strict=True):
            parameter -= lr * gradient
    after = loss_gradients(moving, x, classes)
    old, new = before[place], after[place]  # (out, in)
    return {
        "norm": old.norm().item(),
        "change": (old - new).norm().item(),
        "cosine": ((old * new).sum() / (old.norm() * new.norm())).item(),
    }
