"""Make the arguments of a call for the student's function, and tell what the call has done to them.

The models are the grader's own. Nothing here calls what a student wrote, apart from hooks that a call left on a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import torch

from autograder.probe.network import make, maker
from autograder.probe.witness import Witness
from autograder.trace.look import EVERYTHING, Look
from autograder.trace.network import Maker, Network
from autograder.trace.scenario import Argument, Call, Listed, Recipe, Sizes, draw, leaves
from autograder.trace.trace import Seen


class Given:
    """The arguments of one call, made, and how they were before it."""

    def __init__(self, step: Call, look: Look = EVERYTHING) -> None:
        named = {**{f"argument {n}": given for n, given in enumerate(step.args)}, **step.kwargs}
        made = {place: real(given) for place, given in named.items()}
        self.args = [made[f"argument {n}"] for n in range(len(step.args))]
        self.kwargs = {word: made[word] for word in step.kwargs}
        self._watched = [Bystander(place, given, made[place], look) for place, given in named.items()]

    def left_behind(self) -> dict[str, Seen]:
        """Return what is to be said of the arguments after the call."""
        seen: dict[str, Seen] = {}
        for bystander in self._watched:
            seen.update(bystander.tells())
        return seen


class Bystander:
    """What is in one argument (tensors, models, lists, dictionaries), and how it was before the call, as far as somebody looks."""

    def __init__(self, place: str, given: Argument, made: Any, look: Look) -> None:
        self.address = f"{place} is unchanged"
        self.tensors: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.holders: list[tuple[Holder, Holder]] = []
        if look.at(self.address):
            self.tensors = [(leaf, leaf.clone()) for leaf in leaves(made) if isinstance(leaf, torch.Tensor)]
            self.holders = [(holder, holder.copy()) for holder in _holders(made)]
        self.models: list[Witness] = []
        networks = [leaf for leaf in leaves(given) if isinstance(leaf, Network)]
        if networks:
            models = (leaf for leaf in leaves(made) if isinstance(leaf, torch.nn.Module))
            for number, (network, model) in enumerate(zip(networks, models, strict=True)):
                here = place if len(networks) == 1 else f"{place}, model {number}"
                self.models.append(Witness(model, here, network.changes, look))

    def tells(self) -> dict[str, Seen]:
        seen: dict[str, Seen] = {}
        if self.tensors or self.holders:
            # None was made to want a gradient, or has one.
            quiet = not any(now.requires_grad or now.grad is not None for now, _ in self.tensors)
            same = all(_holds(now) == _holds(before) for now, before in self.holders)
            seen[self.address] = quiet and same and all(torch.equal(now, before) for now, before in self.tensors)
        for witness in self.models:
            seen.update(witness.tells())
        return seen


Holder: TypeAlias = "list[Any] | dict[Any, Any]"


def _holders(made: Any) -> Iterator[Holder]:
    """Yield the lists and dictionaries in an argument, at any depth."""
    if isinstance(made, list | dict):
        yield made
    if isinstance(made, tuple | list | dict):
        for part in made.values() if isinstance(made, dict) else made:
            yield from _holders(part)


def _holds(given: Holder) -> list[int]:
    """Return the identities of what a list or a dictionary holds, in order."""
    return [id(part) for entry in given.items() for part in entry] if isinstance(given, dict) else [*map(id, given)]


_SEQUENCES: Mapping[str, Callable[[tuple[int, ...]], Any]] = {
    "Size": torch.Size,
    "list": list,
    "range": lambda ends: range(*ends),
}


def real(given: Argument) -> Any:
    """Return what a scenario's argument stands for: a tensor drawn from a recipe and laid out in memory, a model, or itself."""
    if type(given) is Recipe:  # nearly all of them are
        return _tensor(given)
    match given:
        case Network():
            return make(given)
        case Maker():
            return maker(given)
        case Sizes():
            return _SEQUENCES[given.kind](given.of)
        case Listed():
            return list(map(real, given))
        case tuple():
            return tuple(map(real, given))
        case Mapping():
            return {key: real(part) for key, part in given.items()}
        case _:
            return given


def _tensor(given: Recipe) -> torch.Tensor:
    x = torch.from_numpy(draw(given))
    if given.layout == "contiguous":
        return x
    axes = list(range(x.dim()))
    match given.layout:
        case "transposed":
            order = axes[::-1]
        case "channels_last":
            order = [0, *axes[2:], 1] if x.dim() > 2 else axes
        case "strided":
            wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
            wide[..., ::2] = x
            return wide[..., ::2]
        case _:
            return x
    return x.permute(order).contiguous().permute([order.index(axis) for axis in axes])
