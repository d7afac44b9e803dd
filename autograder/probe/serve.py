"""The probe's door inside a kernel: scenarios come in as text, traces go out as bytes.

The grader has the kernel call these functions by name, each with a text and the notebook's names. Nothing here is secret, nothing
decides.
"""

from __future__ import annotations

import contextlib
import io
import random
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from autograder.probe.network import make
from autograder.probe.run import run
from autograder.trace.codec import dump_traces, load_scenarios
from autograder.trace.network import Network
from autograder.trace.parcel import pack
from autograder.trace.scenario import Recipe, Scenario, draw, leaves

READY, ANSWER, FORESEE = (f"autograder.probe.serve:{name}" for name in ("ready", "answer", "foresee"))


def request(*checks: str) -> str:
    """Return the text that asks for the scenarios of some checks, JSON text of each."""
    return "\n".join(checks)  # JSON text has no line breaks


def ready(seed: str, namespace: dict[str, Any]) -> bytes:
    """Load what the probe needs and say so, before any code of the student's runs and any of its time counts.

    From here on random, numpy and torch draw the same in every kernel with this seed, so that a replay sees what was graded.
    """
    run((), {})
    random.seed(int(seed))
    np.random.seed(int(seed))
    torch.manual_seed(int(seed))
    return dump_traces([])


def foresee(text: str) -> None:
    """Read the scenarios of a request and draw their numbers, in a template, so that no fork has to.

    They are no secret: each kernel is sent them in its turn, and what is expected of them never comes here.
    """
    for line in text.splitlines():
        for scenario in _scenarios(line):
            given = tuple(vars(step) for step in scenario.steps)
            for leaf in leaves(given):
                if isinstance(leaf, Recipe):
                    draw(leaf)
                elif isinstance(leaf, Network):
                    make(leaf)


def answer(text: str, namespace: dict[str, Any]) -> bytes:
    """Run the scenarios on the notebook's names and return a parcel of traces, one reply for each check.

    It ends with the first check that took too long: the grader decides whether the others are worth the time. What student code
    prints meanwhile is dropped.
    """
    replies = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for line in text.splitlines():
            traces = run(_scenarios(line), namespace)
            replies.append(dump_traces(traces))
            if any(trace.took_too_long for trace in traces):
                break
    return pack(replies)


@lru_cache(maxsize=1024)
def _scenarios(line: str) -> tuple[Scenario, ...]:
    return load_scenarios(line)
