"""Run scenarios on the names in a namespace and return traces: the only code of ours that touches a student's objects.

Theory of operation. It runs in the student's process, so it holds no answer and decides nothing: it builds, calls, and writes
down. It never raises for what the student's code does: any exception, and a scenario that takes too long, is an observation.
It sets the switches that a notebook may have left in an odd state (default dtype, gradient mode, thread's warnings filter) and puts
them back. The same function runs the reference in the grader's process.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from autograder.probe import observe
from autograder.probe.alarm import Alarm
from autograder.probe.arguments import Given, real
from autograder.probe.gradient import backward
from autograder.probe.oplog import OperatorLog, Watch, inherited
from autograder.probe.orderly import Orderly
from autograder.trace.scenario import (
    Backward,
    Build,
    Call,
    Cast,
    Forward,
    Freeze,
    Load,
    Mode,
    Recipe,
    Reload,
    Scenario,
    State,
    Step,
    Twin,
    Value,
)
from autograder.trace.trace import Failure, Observation, Seen, Trace

SCENARIO_TIMEOUT_S = 5.0  # CPU seconds of one step
HURRY_S = 1.0  # of a step, once another scenario of the check has taken too long


def run(
    scenarios: Sequence[Scenario],
    namespace: Mapping[str, Any],
    timeout_s: float = SCENARIO_TIMEOUT_S,
    *,
    evidence: bool = True,
) -> list[Trace]:
    """Run each scenario on the names in the namespace and return one trace for each, in order.

    Without `evidence` the traces do not say which operators ran, nor whether autograd did: for the reference, of whom nobody asks.
    """
    traces: list[Trace] = []
    with Orderly() as orderly, Alarm(timeout_s) as alarm:
        warm_up()
        for scenario in scenarios:
            orderly.again()  # for each anew: what one scenario turns must not reach the next
            trace = _run_one(scenario, namespace, alarm, evidence)
            traces.append(trace)
            if trace.took_too_long:
                # Where one step took too long, the others most likely will; they get less time, so that the check ends.
                alarm.seconds = min(timeout_s, HURRY_S)
    return traces


@cache
def warm_up() -> None:
    """Have torch load what it loads at first use, before any alarm can ring in the middle of such an import."""
    with Watch(OperatorLog(), operators=True, autograd=True):
        layer = torch.nn.Sequential(torch.nn.Linear(2, 2))
        layer(torch.ones(1, 2, requires_grad=True)).square().sum().backward()
        copy.deepcopy(layer).load_state_dict(layer.state_dict())


def _run_one(scenario: Scenario, namespace: Mapping[str, Any], alarm: Alarm, evidence: bool) -> Trace:
    log, bench = OperatorLog(), _Bench(namespace)
    watches: dict[bool, Watch] = {}
    observations: list[Observation] = []
    for step in scenario.steps:
        seen: dict[str, Seen] = {}
        # Autograd is watched where a function is called: a module's backward pass is torch's business.
        autograd = evidence and isinstance(step, Call)
        if autograd not in watches:
            watches[autograd] = Watch(log, operators=evidence, autograd=autograd)
        failure = _tried(step, bench, seen, alarm, watches[autograd])
        if failure is not None and "saved tensor hooks" in failure.message:
            log.unpacked = True  # torch.func refuses to run under the watch: once more without, if autograd is allowed
            seen.clear()
            failure = _tried(step, bench, seen, alarm, Watch(log, operators=evidence, autograd=False))
        observations.append(Observation(seen, failure))
        if failure is not None:
            break
    return Trace(scenario.name, tuple(observations), tuple(log.operators), log.unpacked, bench.inherits)


def _tried(step: Step, bench: _Bench, seen: dict[str, Seen], alarm: Alarm, watch: Watch) -> Failure | None:
    # What the grader makes, and how it looks afterwards, is no work of the student's: it is not watched, which costs time.
    given = Given(step) if isinstance(step, Call) else None
    raised: BaseException | None = None
    alarm.start()
    try:
        with watch:
            try:
                alarm.rings = True
                bench.do(step, seen, given)
            finally:
                alarm.rings = False  # the watch is not to be interrupted while it ends
        if given is not None:
            alarm.rings = True
            seen.update(given.left_behind())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and GeneratorExit too: they are the student's, not ours
        raised = error
    finally:
        alarm.rings = False
    try:
        if raised is None:
            return None
        watch.raised(raised)
        return observe.failure(raised)
    finally:
        raised = None  # it holds this frame, and all of the student's


class _Bench:
    """What a scenario works on: the module, the graph that waits for its backward pass."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.namespace = namespace
        self.build: Build | None = None
        self.m: Any = None  # the module under test
        self.outer: Any = None  # what is called: the module, or the nn.Sequential around it
        self.hooked = 0
        self.waiting: tuple[Any, Any] | None = None
        self.inherits: tuple[str, ...] = ()

    def do(self, step: Step, seen: dict[str, Seen], given: Given | None = None) -> None:
        """Do one step and write what it shows into `seen`, also the part before a failure."""
        match step:
            case Build(at_first_call=True):
                self.build = step
            case Build():
                self._construct(step)
            case Cast():
                self.outer.to(getattr(torch, step.dtype))
            case Mode():
                self._switch(step)
            case Load():
                self._load(step)
            case Reload():
                self._reload(step)
            case Freeze():
                for name in step.names:
                    getattr(self.m, name).requires_grad_(False)
            case Forward():
                self._forward(step, seen)
            case Twin():
                self._twin(step)
            case Backward():
                self._late_backward(step, seen)
            case State():
                seen.update(observe.state(self.m))
            case Call():
                assert given is not None, "the arguments of a Call are made before it"
                self._call(step, given, seen)
            case Value():
                seen.update(observe.value(step.target, self._target(step.target)))

    def _target(self, name: str) -> Any:
        if name not in self.namespace:
            raise NameError(f"{name} is not defined: write it, or run the cell that defines it")
        return self.namespace[name]

    def _construct(self, step: Build) -> None:
        cls = self._target(step.target)
        self.build, self.m = step, cls(*map(real, step.args), **{k: real(v) for k, v in step.kwargs.items()})
        if not isinstance(self.m, torch.nn.Module):
            raise TypeError(f"{step.target}(...) must be an nn.Module; it is a {type(self.m).__name__}")
        self.inherits = inherited(self.m)
        if step.dtype is not None:
            self.m.to(getattr(torch, step.dtype))
        self.outer, self.hooked = self.m, 0
        if step.child:
            self.outer = torch.nn.Sequential(self.m)
            self.m.register_forward_hook(self._count)

    def _count(self, *_: Any) -> None:
        self.hooked += 1

    def _switch(self, step: Mode) -> None:
        if step.attribute:
            self.m.training = step.training
        elif step.training:
            self.outer.train()
        else:
            self.outer.eval()

    def _load(self, step: Load) -> None:
        state = {name: real(recipe) for name, recipe in step.state.items()}
        if not step.fill:
            self.m.load_state_dict(state, strict=True)
            return
        with torch.no_grad():
            for name, value in state.items():
                there = getattr(self.m, name)
                if not isinstance(there, torch.Tensor):
                    raise AttributeError(f"m.{name} must be a tensor; it is {type(there).__name__}")
                if there.shape != value.shape:
                    raise ValueError(f"m.{name} must have shape {tuple(value.shape)}; it has {tuple(there.shape)}")
                there.copy_(value)

    def _reload(self, step: Reload) -> None:
        if step.copy:
            self.m = self.outer = copy.deepcopy(self.m)
            return
        assert self.build is not None, "a Reload follows a Build"
        state, training = copy.deepcopy(self.m.state_dict()), self.m.training
        self._construct(self.build)
        self.m.load_state_dict(state, strict=True)
        self.m.train(training)

    def _forward(self, step: Forward, seen: dict[str, Seen]) -> None:
        if self.m is None and self.build is not None:
            self._construct(self.build)
        x = real(step.x)
        x.requires_grad_(step.x_requires_grad and step.grad_enabled)
        before = x.detach().clone()
        self.m.zero_grad(set_to_none=True)
        with torch.set_grad_enabled(step.grad_enabled):
            y = self.outer(x)
        seen["x is unchanged"] = bool(torch.equal(x.detach(), before))
        if self.build is not None and self.build.child:
            seen["forward hooks fired"], self.hooked = self.hooked, 0
        seen["y"] = observe.thing(y)
        if not isinstance(y, torch.Tensor):
            return
        if step.later:
            self.waiting = (x, y)
        elif step.grad is not None:
            self._backward(x, y, step.grad, seen)

    def _twin(self, step: Twin) -> None:
        assert self.build is not None, "a Twin follows a Build"
        bench = _Bench(self.namespace)
        bench._construct(replace(self.build, kwargs={}))
        with torch.no_grad():
            bench.outer(real(step.x))

    def _late_backward(self, step: Backward, seen: dict[str, Seen]) -> None:
        assert self.waiting is not None, "a Backward follows a Forward with later=True"
        (x, y), self.waiting = self.waiting, None
        self._backward(x, y, step.grad, seen)

    def _backward(self, x: Any, y: Any, grad: Recipe, seen: dict[str, Seen]) -> None:
        backward(y, real(grad))
        seen["x.grad"] = observe.thing(x.grad)
        for name, parameter in itertools.islice(self.m.named_parameters(), 20):
            seen[f"m.{name}.grad"] = observe.thing(parameter.grad)

    def _call(self, step: Call, given: Given, seen: dict[str, Seen]) -> None:
        result = self._target(step.target)(*given.args, **given.kwargs)
        seen.update(observe.value("result", result))
