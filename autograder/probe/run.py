"""Run scenarios on the names in a namespace and return traces; with `steps` the only code of ours that touches students' objects.

Theory of operation. It runs in the student's process, so it holds no answer and decides nothing: it builds, calls, and writes
down. It never raises for what the student's code does: any exception, and a scenario that takes too long, is an observation.
It sets the switches that a notebook may have left in an odd state (default dtype, gradient mode, thread's warnings filter) and puts
them back. The same function runs the reference in the grader's process.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import torch

from autograder.probe import observe
from autograder.probe.alarm import Alarm
from autograder.probe.arguments import Given
from autograder.probe.copies import QuickCopies
from autograder.probe.garbage import NoGarbage
from autograder.probe.oplog import OperatorLog, Watch
from autograder.probe.orderly import Orderly
from autograder.probe.steps import Bench
from autograder.trace.look import EVERYTHING, Look
from autograder.trace.scenario import Call, Scenario, Step
from autograder.trace.trace import Failure, Observation, Seen, Trace

SCENARIO_TIMEOUT_S = 5.0  # CPU seconds of one step
HURRY_S = 1.0  # of a step, once another scenario of the check has taken too long


def run(
    scenarios: Sequence[Scenario],
    namespace: Mapping[str, Any],
    timeout_s: float = SCENARIO_TIMEOUT_S,
    *,
    evidence: bool = True,
    looks: Sequence[Look] | None = None,
) -> list[Trace]:
    """Run each scenario on the names in the namespace and return one trace for each, in order.

    Without `evidence` the traces do not say which operators ran, nor whether autograd did: for the reference, of whom nobody asks.
    With `looks`, one for each scenario, they hold what is looked at and little else; whatever is done is done all the same.
    """
    with Runs(timeout_s, evidence=evidence) as runs:
        return runs.run(scenarios, namespace, looks)


class Runs:
    """A block in which scenarios are run, those of one check after the other: to begin it takes as long as to run a few."""

    def __init__(self, timeout_s: float = SCENARIO_TIMEOUT_S, *, evidence: bool = True) -> None:
        self.timeout_s, self.evidence = timeout_s, evidence
        self._inside = ExitStack()

    def __enter__(self) -> Runs:
        self._garbage = self._inside.enter_context(NoGarbage())
        self._orderly = self._inside.enter_context(Orderly())
        self._alarm = self._inside.enter_context(Alarm())
        self._inside.enter_context(QuickCopies())
        warm_up()
        self._watch = self._inside.enter_context(Watch(OperatorLog(), operators=self.evidence, autograd=False))
        return self

    def __exit__(self, *error: Any) -> None:
        self._inside.__exit__(*error)

    def run(
        self, scenarios: Sequence[Scenario], namespace: Mapping[str, Any], looks: Sequence[Look] | None = None
    ) -> list[Trace]:
        """Run the scenarios of one check, as the function of this name says."""
        traces: list[Trace] = []
        self._alarm.set(self.timeout_s)
        for scenario, look in zip(scenarios, looks or [EVERYTHING] * len(scenarios), strict=True):
            self._garbage.between()
            self._orderly.again()  # for each anew: what one scenario turns must not reach the next
            traces.append(self._run_one(scenario, Bench(namespace, look)))
            if traces[-1].took_too_long:
                # Where one step took too long, the others most likely will; they get less time, so that the check ends.
                self._alarm.set(min(self.timeout_s, HURRY_S))
        return traces

    def _run_one(self, scenario: Scenario, bench: Bench) -> Trace:
        log = OperatorLog()
        self._watch.turn_to(log)
        hooks: Watch | None = None
        observations: list[Observation] = []
        for step in scenario.steps:
            seen: dict[str, Seen] = {}
            if self.evidence and hooks is None and isinstance(step, Call):
                # Autograd is watched where a function is called: a module's backward pass is torch's business.
                hooks = Watch(log, operators=False, autograd=True)
            failure = self._tried(step, bench, seen, hooks if isinstance(step, Call) else None)
            if failure is not None and "saved tensor hooks" in failure.message:
                # torch.func refuses to run under the watch: once more without, if autograd is allowed
                log.unpacked = True
                seen.clear()
                failure = self._tried(step, bench, seen, None)
            observations.append(Observation(seen, failure))
            if failure is not None:
                break
        return Trace(scenario.name, tuple(observations), tuple(log.operators), log.unpacked, bench.inherits)

    def _tried(self, step: Step, bench: Bench, seen: dict[str, Seen], hooks: Watch | None) -> Failure | None:
        given = Given(step, bench.look) if isinstance(step, Call) else None
        raised: BaseException | None = None
        alarm = self._alarm
        alarm.start()
        try:
            if hooks is not None:
                hooks.__enter__()
            try:
                alarm.rings = True
                bench.do(step, seen, given)
            finally:
                alarm.rings = False  # the watch is not to be interrupted while it ends
                if hooks is not None:
                    hooks.__exit__(None, None, None)
            if given is not None:
                alarm.rings = True
                seen.update(given.left_behind())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and GeneratorExit too: they are the student's, not ours
            raised = error
        finally:
            alarm.rings = False
        if raised is None:
            return None
        try:
            self._watch.raised(raised)
            return observe.failure(raised)
        finally:
            raised = None  # it holds this frame, and all of the student's


@cache
def warm_up() -> None:
    """Have torch load what it loads at first use, before any alarm can ring in the middle of such an import."""
    with Watch(OperatorLog(), operators=True, autograd=True):
        layer = torch.nn.Sequential(torch.nn.Linear(2, 2))
        layer(torch.ones(1, 2, requires_grad=True)).square().sum().backward()
        copy.deepcopy(layer).load_state_dict(layer.state_dict())
