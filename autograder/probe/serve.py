"""The probe's door inside a kernel: scenarios come in as text, traces go out as one display message of our own type.

The grader executes what `request` returns in the kernel and reads the message. Nothing here is secret, nothing decides.
"""

from __future__ import annotations

import base64
import contextlib
import io
import random
from typing import Any

import numpy as np
import torch

from autograder.probe.run import run
from autograder.trace.codec import dump_traces, load_scenarios
from autograder.trace.parcel import pack

MIME = "application/vnd.normalization-course.traces"


def request(*checks: str) -> str:
    """Return the code that a grader executes in a kernel to have the scenarios of some checks run there, JSON text of each."""
    text = base64.b64encode("\n".join(checks).encode()).decode()  # JSON text has no line breaks
    return f'__import__("autograder.probe.serve", fromlist=["answer"]).answer("{text}", globals())'


READY = '__import__("autograder.probe.serve", fromlist=["ready"]).ready'


def get_ready(seed: int) -> str:
    """Return the code that a grader executes first in a kernel: it loads the probe and seeds what draws at random."""
    return f"{READY}({seed})"


def ready(seed: int) -> None:
    """Load what the probe needs and say so, before any code of the student's runs and any of its time counts.

    From here on random, numpy and torch draw the same in every kernel with this seed, so that a replay sees what was graded.
    """
    from IPython.display import publish_display_data

    run((), {})
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    publish_display_data({MIME: base64.b64encode(dump_traces([])).decode()})  # type: ignore[no-untyped-call]


def answer(request_text: str, namespace: dict[str, Any]) -> None:
    """Run the scenarios on the notebook's names and display a parcel of traces, one reply for each check.

    It ends with the first check that took too long: the grader decides whether the others are worth the time. What student code
    prints meanwhile is dropped.
    """
    from IPython.display import publish_display_data

    replies = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for text in base64.b64decode(request_text).decode().splitlines():
            traces = run(load_scenarios(text), namespace)
            replies.append(dump_traces(traces))
            if any(trace.took_too_long for trace in traces):
                break
    publish_display_data({MIME: base64.b64encode(pack(replies)).decode()})  # type: ignore[no-untyped-call]
