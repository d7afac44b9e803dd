"""Make the model that a Network describes, of torch's own layers and a few odd ones. What is left of it is `witness`'s to tell.

A weight of a linear or convolutional layer is normal with variance 2 / fan_in, so that deep nets neither vanish nor explode; the
other numbers lie where nothing that forgets them can hide: norm weights around 1.2, running variances around 2,
and a count of batches that is not 0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from autograder.trace.network import BLOCK, FROZEN, STILL, Layer, Maker, Network
from autograder.trace.scenario import Recipe, brought, draw

BATCHES_SEEN = 7  # what num_batches_tracked says: this model has been trained before


class _ByRow(nn.Module):
    """Multiplies the first row by 1, the second by 2: whoever changes the order of rows shows it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(1, len(x) + 1, dtype=x.dtype, device=x.device)
        return x * rows.view(-1, *[1] * (x.dim() - 1))


class _Mistyped(nn.Module):
    """Has a fault that is no refusal."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise TypeError("this layer expects a list")


_MAKE: dict[str, Callable[..., nn.Module]] = {
    "linear": lambda i, o, bias=True: nn.Linear(i, o, bias=bool(bias)),
    "conv": lambda i, o, k: nn.Conv2d(i, o, k),
    "batch_norm": lambda c, momentum=0.1: nn.BatchNorm1d(c, momentum=momentum),
    "batch_norm_2d": lambda c, momentum=0.1: nn.BatchNorm2d(c, momentum=momentum),
    "layer_norm": nn.LayerNorm,
    "group_norm": nn.GroupNorm,
    "instance_norm_2d": nn.InstanceNorm2d,
    "rms_norm": nn.RMSNorm,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "flatten": nn.Flatten,
    "identity": nn.Identity,
    "by_row": _ByRow,
    "mistyped": _Mistyped,
}


def make(network: Network) -> nn.Sequential:
    """Return the model: the same numbers for the same network, whatever the state of torch's random generator."""
    modules: list[nn.Module] = []
    model: nn.Sequential = _copied(_prototype(network.layers), network.training, modules)
    dtype = getattr(torch, network.dtype)
    numbers = drawn(network) if network.at is None else _came_along(network, network.at)
    for module in modules:
        kept: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
        for tensors in kept:
            for name, there in tensors.items():
                if there is None:
                    continue
                if there.is_floating_point():
                    own = torch.from_numpy(next(numbers)).to(dtype, copy=True)
                    of_parameters = tensors is module._parameters
                    tensors[name] = nn.Parameter(own, there.requires_grad) if of_parameters else own
                else:
                    tensors[name] = torch.full_like(there, BATCHES_SEEN)
    for parameter in model.parameters() if network.gradients else ():
        parameter.grad = torch.from_numpy(next(numbers)).to(parameter.dtype, copy=True)
    return model


def drawn(network: Network) -> Iterator[npt.NDArray[np.generic]]:
    """Yield the numbers of a network, an array for each tensor, in the order in which `make` needs them."""
    prototype, number = _prototype(network.layers), -1
    for name, module in prototype.named_modules():
        for tensors in (module._parameters, module._buffers):
            for own, there in tensors.items():
                number += there is not None
                if there is not None and there.is_floating_point():
                    yield draw(_recipe(f"{name}.{own}", there, (network.seed << 8) + number))
    for number, parameter in enumerate(prototype.parameters() if network.gradients else ()):
        yield draw(Recipe(tuple(parameter.shape), (network.seed << 8) + 128 + number, loc=0.5, through="float32"))


def _came_along(network: Network, at: int) -> Iterator[npt.NDArray[np.generic]]:
    """Yield the same, where they begin at that place among the numbers that were brought: views of them."""
    parameters, all_of_them = _shapes(network.layers)
    for shape in (*all_of_them, *(parameters if network.gradients else ())):
        count = shape.numel()
        yield brought(at, count).reshape(shape)
        at += count


@lru_cache(maxsize=256)
def _shapes(layers: tuple[Layer, ...]) -> tuple[tuple[torch.Size, ...], tuple[torch.Size, ...]]:
    """Return the shapes of the parameters, and of all tensors that hold numbers, in order."""
    prototype = _prototype(layers)
    tensors = [there for m in prototype.modules() for there in (*m._parameters.values(), *m._buffers.values())]
    return (
        tuple(parameter.shape for parameter in prototype.parameters()),
        tuple(there.shape for there in tensors if there is not None and there.is_floating_point()),
    )


@lru_cache(maxsize=256)
def _prototype(layers: tuple[Layer, ...]) -> nn.Sequential:
    """Return a model of these layers that is only ever copied: to have torch make one takes ten times as long."""
    with torch.random.fork_rng(devices=[]):  # torch's own starting values are drawn and thrown away
        return _sequential(layers)


def _copied(module: Any, training: bool, copies: list[nn.Module]) -> Any:
    """Return a module like it, with the same tensors in it until they are replaced, in that mode but for still blocks.

    It and all modules in it are added to `copies`, each before those inside of it.
    """
    training = training and not isinstance(module, _Still)
    made = module.__class__.__new__(module.__class__)
    copies.append(made)
    # Most of them are empty, and quicker made than copied.
    own = {key: v.copy() if v else type(v)() for key, v in module.__dict__.items() if type(v) in _OWN_EACH}
    made.__dict__.update(module.__dict__, **own, training=training)
    for name, child in module._modules.items():
        made._modules[name] = _copied(child, training, copies)
    return made


_OWN_EACH = (dict, OrderedDict, list, set)  # what each module has of its own, and may be written into


class _Still(nn.Sequential):
    """A block in evaluation mode."""


def maker(given: Maker) -> Callable[[int], nn.Sequential]:
    """Return the function of a seed that makes the network anew."""
    return lambda seed: make(given.of(int(seed)))


def _sequential(layers: tuple[Layer, ...]) -> nn.Sequential:
    return nn.Sequential(*(_layer(*layer) for layer in layers))


def _layer(word: Any, *sizes: Any) -> nn.Module:
    if word == STILL:
        return _Still(*_sequential(sizes))
    if word == FROZEN:
        return _sequential(sizes).requires_grad_(False)
    return _sequential(sizes) if word == BLOCK else _MAKE[word](*sizes)


def _recipe(name: str, there: torch.Tensor, seed: int) -> Recipe:
    # Through float32, so that the model in float64 is the truth of the one in float32 and not another model.
    drawn = Recipe(tuple(there.shape), seed, through="float32")
    if name.endswith("running_var"):
        return replace(drawn, loc=2.0, scale=0.5, positive=True)
    if name.endswith("running_mean"):
        return replace(drawn, loc=0.5, scale=0.7)
    if name.endswith("bias"):
        return replace(drawn, scale=0.4)
    if there.dim() == 1:
        return replace(drawn, loc=1.2, scale=0.3)
    return replace(drawn, scale=(2 / there[0].numel()) ** 0.5)
