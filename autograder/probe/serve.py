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
from typing import Any

import numpy as np
import torch

from autograder.probe.network import make
from autograder.probe.run import run
from autograder.trace.codec import dump_traces
from autograder.trace.network import Network
from autograder.trace.parcel import pack, unpack
from autograder.trace.scenario import Recipe, Scenario, bring, draw, leaves, noted

READY, ANSWER = (f"autograder.probe.serve:{name}" for name in ("ready", "answer"))
MOST_CHECKS = 10_000


def question(scenarios: Sequence[Scenario]) -> bytes:
    """Return one check's scenarios with their numbers drawn, which a class needs once and each of its kernels would do again."""
    with noted() as drawn:
        for leaf in leaves(tuple(vars(step) for scenario in scenarios for step in scenario.steps)):
            if isinstance(leaf, Recipe):
                draw(leaf)
            elif isinstance(leaf, Network):
                make(leaf)
    return pickle.dumps((tuple(scenarios), drawn), protocol=pickle.HIGHEST_PROTOCOL)


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
    torch.manual_seed(int(seed))
    return dump_traces([])


def answer(asked: bytes, namespace: dict[str, Any]) -> bytes:
    """Run the scenarios on the notebook's names and return a parcel of traces, one reply for each check.

    It ends with the first check that took too long: the grader decides whether the others are worth the time. What student code
    prints meanwhile is dropped.
    """
    replies = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for one in unpack(asked, MOST_CHECKS):
            scenarios, drawn = pickle.loads(one)
            bring(drawn)
            traces = run(scenarios, namespace)
            replies.append(dump_traces(traces))
            if any(trace.took_too_long for trace in traces):
                break
    return pack(replies)
