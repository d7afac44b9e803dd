"""No garbage of one scenario is collected in the middle of another, and yet it is collected."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from autograder.probe import garbage
from autograder.probe.garbage import NoGarbage
from autograder.probe.run import run
from autograder.trace.scenario import Call, Scenario, Value


def test_the_garbage_of_one_scenario_does_not_disturb_another() -> None:
    """A generator left in the middle of `no_grad` turns gradients on when it is collected, wherever that is."""

    def without_gradients() -> Iterator[None]:
        with torch.no_grad():
            yield

    left: list[Any] = []

    def leaves() -> None:
        suspended: list[Any] = [without_gradients()]
        next(suspended[0])
        suspended.append(suspended)  # only the collector gets rid of it
        left.append(suspended)

    def updates() -> bool:
        running, weight = torch.zeros(2), torch.ones(2, requires_grad=True)
        with torch.no_grad():
            left.clear()
            gc.set_threshold(1)  # whenever it may, it has its turn now
            kept = [[number] for number in range(100)]
            running = running + weight * len(kept)
        return bool(running.requires_grad)

    before = gc.get_threshold()
    gc.set_threshold(1_000_000)
    try:
        scenarios = [Scenario(name, (Call(name),)) for name in ("leaves", "updates")]
        traces = run(scenarios, {"leaves": leaves, "updates": updates})
    finally:
        gc.set_threshold(*before)
    assert [trace.observations[0].seen["result"] for trace in traces] == [None, False]
    assert gc.isenabled()


def test_much_garbage_is_collected_between_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with what a submission leaves behind."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    class Large:
        def __init__(self) -> None:
            self.itself, self.parts = self, [[] for _ in range(300)]
            alive.add(self)

    monkeypatch.setattr(garbage, "ENOUGH", 1000)
    most: list[int] = []

    def makes() -> None:
        Large()
        most.append(len(alive))

    run([Scenario("s", (Call("makes"),))] * 50, {"makes": makes})
    assert max(most) < 10


def test_a_notebook_without_a_collector_stays_without() -> None:
    """Whoever has turned it off does not find it on."""
    gc.disable()
    try:
        run([Scenario("s", (Value("v"),))], {"v": 1})
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_two_threads_leave_the_collector_as_it_was() -> None:
    """The first to begin turns it off, and the last to end turns it on."""
    first, second = NoGarbage(), NoGarbage()
    with first:
        second.__enter__()
    assert not gc.isenabled()
    second.__exit__()
    assert gc.isenabled()
