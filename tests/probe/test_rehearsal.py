"""The rehearsal goes all the ways that it is for, and leaves nothing behind that a student's code could see."""

from __future__ import annotations

import gc
import random
import sys
import warnings

import numpy as np
import torch

from autograder.probe.rehearsal import SCENARIOS, rehearse
from autograder.trace.codec import load_traces
from autograder.trace.parcel import unpack


def test_all_that_is_rehearsed_ends_as_it_should() -> None:
    """One error, which is part of it; a step that fails by accident would hide what comes after it."""
    traces = load_traces(*unpack(rehearse(), 1))
    assert [trace.scenario for trace in traces if trace.failure] == ["an error"]
    assert [len(trace.observations) for trace in traces] == [len(scenario.steps) for scenario in SCENARIOS]
    assert {"m.weight.grad", "x.grad", "y"} <= set(traces[0].observations[3].seen)
    assert {"result[0]", "result[1]['mean']"} <= set(traces[3].observations[0].seen)


def test_nothing_is_left_of_it() -> None:
    """Numbers that will be drawn, torch's switches, filters of warnings, the garbage collector, modules."""
    rehearse()

    def here() -> object:
        numpys = np.random.get_state(legacy=True)
        switches = torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        return (
            random.getstate(),
            [part.tolist() if isinstance(part, np.ndarray) else part for part in numpys],
            torch.get_rng_state().tolist(),
            switches,
            list(warnings.filters),
            gc.isenabled(),
            sorted(sys.modules),
        )

    before = here()
    rehearse()
    assert here() == before
