"""Reference functions of lab 5, first half: what the linear layers put out, followed over training, and compared.

A pre-activation is an output of an nn.Linear, before any normalization or nonlinearity. Networks with and without
normalization have the same linear layers, so these are the points at which they can be compared. Everything is
kept unit by unit: an average over units lets shifts of opposite sign cancel.

This is not the grader and not a training library; the second half (modes and gradients) is `measure_modes`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Pair: TypeAlias = tuple[Tensor, Tensor]  # means and standard deviations


def unit_statistics(h: Tensor) -> Pair:
    """Return the mean and the biased standard deviation of each unit: h (..., units) -> (units,), (units,).

    mean_j = (1/m) sum_i h_ij,  std_j = sqrt((1/m) sum_i (h_ij - mean_j)^2), i over all axes but the last.
    """
    rows = h.reshape(-1, h.shape[-1])  # (m, units)
    mean = rows.mean(0)  # (units,)
    return mean, (rows - mean).square().mean(0).sqrt()


def loss_gradients(model: nn.Module, x: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
    """Return the gradient of the mean cross-entropy for each parameter, in their order; no `.grad` is touched."""
    return torch.autograd.grad(F.cross_entropy(model(x), classes), list(model.parameters()))


def linear_layers(model: nn.Module) -> list[nn.Linear]:
    """Return the linear layers of a model, nested ones too, in order."""
    return [layer for layer in model.modules() if isinstance(layer, nn.Linear)]


def preactivation_statistics(model: nn.Module, x: Tensor) -> list[Pair]:
    """Return `unit_statistics` of the output of each nn.Linear, in the order of the calls, for one forward pass on x.

    The model runs in the mode that it is in, without a graph. It is left as it was: mode, hooks, gradients, and every
    number, also the running statistics that a forward pass in training mode would move.
    """
    observed = copy.deepcopy(model)  # whatever a forward pass moves, it moves in the copy
    found: list[Pair] = []

    def write_down(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        found.append(unit_statistics(output))

    for layer in linear_layers(observed):
        layer.register_forward_hook(write_down)
    with torch.no_grad():
        observed(x)
    return found


def track_training(
    model: nn.Module, x: Tensor, classes: Tensor, batches: Sequence[Tensor], lr: float, probe: Tensor
) -> list[Pair]:
    """Train a model by plain SGD, one update per batch of indices, and follow its pre-activations on a fixed probe.

    Returns for each linear layer the means and the standard deviations of its units before the first update and after
    each, two tensors (len(batches) + 1, units). Updates and measurements happen in training mode; the modes are put back
    at the end. Only the batches move the running statistics.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.train()
    times = [preactivation_statistics(model, probe)]
    for batch in batches:
        gradients = loss_gradients(model, x[batch], classes[batch])
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= lr * gradient
        times.append(preactivation_statistics(model, probe))
    for module, training in modes:
        module.training = training
    layers = zip(*times, strict=True)  # for each layer its pairs, one a time
    return [(torch.stack([m for m, _ in layer]), torch.stack([s for _, s in layer])) for layer in layers]


def drift(history: Sequence[Pair], lag: int = 1) -> Pair:
    """Return how far each layer moved in `lag` updates; history as `track_training` returns it, T + 1 times and L layers.

    moved[t, l]   = mean over units of |mean_{t+lag} - mean_t| / std_t
    widened[t, l] = mean over units of |log(std_{t+lag} / std_t)|           each (T + 1 - lag, L)

    Raises:
        ValueError: if lag < 1, or if the history is too short to hold two times that lie so far apart.
    """
    times = len(history[0][0])
    if not 1 <= lag < times:
        raise ValueError(f"a shift needs two times that lie {lag} updates apart, 1 or more; the history holds {times}")
    moved, widened = [], []
    for mean, std in history:  # each (T + 1, units)
        moved.append(((mean[lag:] - mean[:-lag]).abs() / std[:-lag]).mean(1))
        widened.append((std[lag:] / std[:-lag]).log().abs().mean(1))
    return torch.stack(moved, dim=1), torch.stack(widened, dim=1)


def compare(
    makers: Mapping[str, Callable[[int], nn.Module]],
    seeds: Sequence[int],
    x: Tensor,
    classes: Tensor,
    batches: Sequence[Tensor],
    lr: float,
    probe: Tensor,
) -> dict[str, Pair]:
    """Return for each kind of network its drift at matched points: mean and standard deviation over seeds, each (L,).

    One seed gives one number for each linear layer: `moved` of `drift`, averaged over the updates. Every network is trained
    on the same batches.

    Raises:
        ValueError: for fewer than two seeds, or if the networks' linear layers do not match one by one in their units.
    """
    if len(seeds) < 2:
        raise ValueError(f"an error bar needs two seeds or more; got {len(seeds)}")
    widths = {name: [layer.out_features for layer in linear_layers(make(seeds[0]))] for name, make in makers.items()}
    if len({tuple(width) for width in widths.values()}) > 1:
        raise ValueError(f"these networks have no matched points; units of their linear layers: {widths}")
    table = {}
    for name, make in makers.items():
        histories = (track_training(make(seed), x, classes, batches, lr, probe) for seed in seeds)
        drifts = torch.stack([drift(history)[0].mean(0) for history in histories])  # (seeds, L)
        table[name] = (drifts.mean(0), drifts.std(0))  # over seeds; unbiased, as the runs are few
    return table
