"""Deep copies are those that Python makes; only what is empty is made in less time, and only inside the block."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import pytest
import torch
from torch import nn

from autograder.probe.copies import QuickCopies
from autograder.probe.run import run
from autograder.trace.scenario import Call, Scenario


def model() -> nn.Module:
    """With hooks, buffers, a shared module and a state dictionary that has an attribute."""
    shared = nn.Linear(2, 2)
    made = nn.Sequential(shared, nn.BatchNorm1d(2), shared)
    made[1].register_forward_hook(hook)
    made.register_buffer("b", torch.ones(1), persistent=False)
    made.held = made.state_dict()
    return made


def hook(*_: Any) -> None:
    """A hook."""


def outline(given: Any, known: dict[int, int]) -> Any:
    """All of an object that a copy has as well: types, order, numbers, what is the same object as what."""
    if isinstance(given, torch.Tensor):
        return type(given), given.tolist(), known.setdefault(id(given), len(known))
    if isinstance(given, dict):
        parts: Any = [(key, outline(part, known)) for key, part in given.items()]
    elif isinstance(given, set | list | tuple):
        parts = [outline(part, known) for part in (sorted(given) if isinstance(given, set) else given)]
    elif not isinstance(given, nn.Module):
        return given
    else:
        parts = []
    own = outline(vars(given), known) if isinstance(given, OrderedDict | nn.Module) else None
    return type(given), parts, own, known.setdefault(id(given), len(known))


class Tagged(OrderedDict[str, int]):
    """A class of somebody's own."""


empty: OrderedDict[str, int] = OrderedDict()
tagged: OrderedDict[str, int] = OrderedDict()
tagged.tag = "kept"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "given",
    [model(), OrderedDict(a=1, b=set()), {"twice": [empty, empty]}, {1, 2}, tagged, Tagged(), [set(), {3}]],
    ids=["a model", "not empty", "the same twice", "a set", "with an attribute", "a subclass", "sets"],
)
def test_copies_are_the_same(given: Any) -> None:
    """As without the block, and they share nothing with what was copied."""
    plain = copy.deepcopy(given)
    with QuickCopies():
        quick = copy.deepcopy(given)
    assert outline(quick, {}) == outline(plain, {}) == outline(given, {})
    assert quick is not given
    if isinstance(given, nn.Module):
        quick._forward_hooks[1] = hook
        assert not given._forward_hooks


def test_python_is_left_as_it_was() -> None:
    """Its table of ways to copy."""
    ways = copy._deepcopy_dispatch  # type: ignore[attr-defined]
    before = dict(ways)
    inside: list[bool] = []
    run([Scenario("s", (Call("f"),))], {"f": lambda: inside.append(OrderedDict in ways)})
    assert inside == [True]
    assert ways == before


def test_blocks_of_two_threads_leave_nothing() -> None:
    """Whichever ends first."""
    before = dict(copy._deepcopy_dispatch)  # type: ignore[attr-defined]
    one, other = QuickCopies(), QuickCopies()
    one.__enter__(), other.__enter__()
    one.__exit__(), other.__exit__()
    assert copy._deepcopy_dispatch == before  # type: ignore[attr-defined]
