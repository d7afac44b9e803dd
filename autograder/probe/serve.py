"""The probe's door inside a kernel: questions come in as bytes, traces go out as bytes.

The grader makes the questions, and has the kernel call `ready` and `answer` by name, with bytes and the notebook's names. A
question is a pickle, which only travels from the grader to a kernel: what a kernel sends back is never read that way. No question
is in a kernel before its turn, so that no cell of a student's can look at what will be asked. Nothing here decides.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from autograder.probe import observe
from autograder.probe.network import drawn
from autograder.probe.run import Runs, run
from autograder.trace.codec import dump_traces
from autograder.trace.look import Look
from autograder.trace.network import Maker, Network
from autograder.trace.parcel import pack, unpack
from autograder.trace.scenario import Recipe, Scenario, Step, bring, changed, draw, leaves

READY, ANSWER = (f"autograder.probe.serve:{name}" for name in ("ready", "answer"))
MOST_CHECKS = 10_000
MOST_SEEDS = 8  # of a maker
MOST_SENT = 1 << 12  # numbers of a tensor or a model; a larger one is drawn where it is needed


def question(scenarios: Sequence[Scenario], looks: Sequence[Look] | None = None) -> bytes:
    """Return one check's scenarios with their numbers drawn, which a class needs once and each of its kernels would do again.

    `looks`, one for each scenario, tell what of the answer is read; without them it tells everything.
    """
    if looks is not None:
        own = {look: Look(look.keys, look.only) for look in looks}  # another thread may be using those
        for look in own.values():
            observe.looked_at(look)  # found out once, here
        looks = [own[look] for look in looks]
    numbers = _Numbers()
    steps: dict[str, Step] = {}  # what is said twice is sent once

    def sent(step: Step) -> Step:
        # A function that is given a maker asks it for the seeds that it is given, most likely.
        seeds = [leaf for leaf in leaves(tuple(vars(step).values())) if type(leaf) is int][:MOST_SEEDS]
        step = changed(step, lambda leaf: numbers.placed(leaf, seeds))
        return steps.setdefault(repr(step), step)

    asked = [replace(scenario, steps=tuple(map(sent, scenario.steps))) for scenario in scenarios]
    return pickle.dumps((asked, looks, numbers.in_a_row()), protocol=pickle.HIGHEST_PROTOCOL)


class _Numbers:
    """The numbers of a question, all in a row."""

    def __init__(self) -> None:
        self._arrays: list[npt.NDArray[np.generic]] = []
        self._count = 0
        self._placed: dict[str, Recipe | Network] = {}  # by its words, since two zeros of different sign are equal

    def placed(self, leaf: object, seeds: Sequence[int] = ()) -> object:
        """Return a recipe or a network as one whose numbers have a place here; anything else, and what is large, as it is."""
        if isinstance(leaf, Maker):
            found = {seed: self.placed(leaf.of(seed)) for seed in seeds}
            return Maker(
                leaf.network, {seed: network for seed, network in found.items() if isinstance(network, Network)}
            )
        if not isinstance(leaf, Recipe | Network):
            return leaf
        words = repr(leaf)
        if words not in self._placed:
            arrays = [draw(leaf)] if isinstance(leaf, Recipe) else list(drawn(leaf))
            count, at = sum(array.size for array in arrays), self._count
            if count > MOST_SENT:
                return leaf
            self._arrays += arrays
            self._count += count
            plain = Recipe(leaf.shape, dtype=leaf.dtype, layout=leaf.layout) if isinstance(leaf, Recipe) else leaf
            self._placed[words] = replace(plain, at=at)
        return self._placed[words]

    def in_a_row(self) -> npt.NDArray[np.float64]:
        """Return them; whole numbers and those of other widths lose nothing in float64."""
        return np.concatenate([np.zeros(0), *(array.ravel() for array in self._arrays)])


def request(*questions: bytes) -> bytes:
    """Return what asks for several checks at once."""
    return pack(questions)


def ready(seed: bytes, namespace: dict[str, Any]) -> bytes:
    """Load what the probe needs and say so, before any code of the student's runs and any of its time counts.

    From here on random, numpy and torch draw the same in every kernel with this seed, so that a replay sees what was graded.
    """
    run((), {})
    random.seed(int(seed))
    np.random.seed(int(seed))
    if torch.accelerator.current_accelerator() is None:
        # The one generator there is: torch's own function reads source files for those of devices that are not there.
        torch.default_generator.manual_seed(int(seed))
    else:
        torch.manual_seed(int(seed))
    return dump_traces([])


def answer(asked: bytes, namespace: dict[str, Any]) -> bytes:
    """Run the scenarios on the notebook's names and return a parcel of traces, one reply for each check.

    It ends with the first check that took too long: the grader decides whether the others are worth the time. What student code
    prints meanwhile is dropped.
    """
    replies = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), Runs() as runs:
        for one in unpack(asked, MOST_CHECKS):
            scenarios, looks, numbers = pickle.loads(one)
            bring(numbers)
            traces = runs.run(scenarios, namespace, looks)
            replies.append(dump_traces(traces))
            if any(trace.took_too_long for trace in traces):
                break
    return pack(replies)
