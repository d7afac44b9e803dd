"""Make the model that a Network describes, and tell what a function under test has left of it. Torch's own layers only.

A weight of a linear or convolutional layer is normal with variance 2 / fan_in, so that deep nets neither vanish nor explode; the
other numbers lie where nothing that forgets them can hide: norm weights around 1.2, running variances around 2,
and a count of batches that is not 0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from autograder.trace.network import BLOCK, STILL, Layer, Maker, Network
from autograder.trace.scenario import Recipe, draw
from autograder.trace.trace import Seen, Tensor

MAX_SEEN = 40  # tensors of one network
BATCHES_SEEN = 7  # what num_batches_tracked says: this model has been trained before

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
}


def make(network: Network) -> nn.Sequential:
    """Return the model: the same numbers for the same network, whatever the state of torch's random generator."""
    model: nn.Sequential = _copied(_prototype(network.layers), network.training)
    dtype, number = getattr(torch, network.dtype), -1
    for name, module in model.named_modules():
        for tensors in (module._parameters, module._buffers):
            for own, there in tensors.items():
                if there is None:
                    continue
                number += 1
                if there.is_floating_point():
                    recipe = _recipe(f"{name}.{own}", there, (network.seed << 8) + number)
                    drawn = torch.from_numpy(draw(recipe)).to(dtype, copy=True)
                    tensors[own] = nn.Parameter(drawn) if tensors is module._parameters else drawn
                else:
                    tensors[own] = torch.full_like(there, BATCHES_SEEN)
    for number, parameter in enumerate(model.parameters() if network.gradients else ()):
        drawn_too = Recipe(tuple(parameter.shape), (network.seed << 8) + 128 + number, loc=0.5, through="float32")
        parameter.grad = torch.from_numpy(draw(drawn_too)).to(parameter.dtype)
    return model


@lru_cache(maxsize=256)
def _prototype(layers: tuple[Layer, ...]) -> nn.Sequential:
    """Return a model of these layers that is only ever copied: to have torch make one takes ten times as long."""
    with torch.random.fork_rng(devices=[]):  # torch's own starting values are drawn and thrown away
        return _sequential(layers)


def _copied(module: Any, training: bool) -> Any:
    """Return a module like it, with the same tensors in it until they are replaced, in that mode but for still blocks."""
    training = training and not isinstance(module, _Still)
    made = module.__class__.__new__(module.__class__)
    made.__dict__.update({key: v.copy() if type(v) in _OWN_EACH else v for key, v in module.__dict__.items()})
    made.__dict__["training"] = training
    for name, child in module._modules.items():
        made._modules[name] = _copied(child, training)
    return made


_OWN_EACH = (dict, OrderedDict, list, set)  # what each module has of its own, and may be written into


class _Still(nn.Sequential):
    """A block in evaluation mode."""


def maker(given: Maker) -> Callable[[int], nn.Sequential]:
    """Return the function of a seed that makes the network anew."""
    return lambda seed: make(replace(given.network, seed=given.network.seed + 1 + int(seed)))


def _sequential(layers: tuple[Layer, ...]) -> nn.Sequential:
    return nn.Sequential(*(_layer(*layer) for layer in layers))


def _layer(word: Any, *sizes: Any) -> nn.Module:
    if word == STILL:
        return _Still(*_sequential(sizes))
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


class Witness:
    """What a model was before a function was given it."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.modules = _modules(model)
        self.numbers = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.gradients = _gradients(model)
        self.wanted = _wanted(model)

    def tells(self, place: str, changes: bool) -> Iterator[tuple[str, Seen]]:
        """Yield what is to be said of the model at a place among the arguments, as addresses and what stands there."""
        modules, now = _modules(self.model), self.model.state_dict()
        yield f"{place} keeps its mode", modules.modes == self.modules.modes
        yield f"{place} keeps its hooks", modules.hooks == self.modules.hooks
        if changes:
            yield f"{place} keeps its momentum", modules.momenta == self.modules.momenta
            yield f"{place} keeps its requires_grad", _wanted(self.model) == self.wanted
            for name, tensor in list(now.items())[:MAX_SEEN]:
                # A copy: a later step may go on training.
                yield f"{place}: {name}", Tensor(str(tensor.dtype).removeprefix("torch."), tensor.cpu().clone().numpy())
            return
        kept = dict(_wanted(self.model)) == dict(self.wanted) and _same(_gradients(self.model), self.gradients)
        yield f"{place} keeps its gradients", kept
        yield f"{place} keeps its numbers", _same(now, self.numbers) and modules.momenta == self.modules.momenta


@dataclass(frozen=True)
class _Modules:
    """Of each module of a model by its name: whether it is in training mode, its momentum, the number of its hooks."""

    modes: list[tuple[str, bool]]
    momenta: list[tuple[str, Any]]
    hooks: list[tuple[str, int]]


def _modules(model: nn.Module) -> _Modules:
    named = list(model.named_modules())
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return _Modules(
        [(name, module.training) for name, module in named],
        [(name, getattr(module, "momentum", None)) for name, module in named],
        [(name, sum(len(getattr(module, kind)) for kind in kinds)) for name, module in named],
    )


def _wanted(model: nn.Module) -> list[tuple[str, bool]]:
    return [(name, parameter.requires_grad) for name, parameter in model.named_parameters()]


def _gradients(model: nn.Module) -> dict[str, Any]:
    return {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


def _same(now: Any, before: Any) -> bool:
    if now.keys() != before.keys():
        return False
    pairs = ((now[name], before[name]) for name in now)
    return all(a is b if a is None or b is None else torch.equal(a, b) for a, b in pairs)
