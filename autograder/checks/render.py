"""Write a scenario as Python code that a student can paste below the solution and run, up to the step that failed.

Small tensors are written out, rounded to six digits; larger ones, and those of long scenarios, are drawn by this package's own
recipe (`arguments` does that). The code is for reading: it is never executed by the grader.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from autograder.checks import arguments
from autograder.checks.compare import Difference
from autograder.trace.scenario import (
    Backward,
    Build,
    Call,
    Cast,
    Forward,
    Freeze,
    Load,
    Mode,
    Put,
    Reload,
    Scenario,
    State,
    Step,
    Twin,
    Value,
)

WRITTEN_OUT = (40, 12, 0)  # elements of a tensor that is still written as numbers: the first that is short enough
REPORT_LINES = 22  # that a student still reads
SHOWN = re.compile(r"(y|x\.grad|m\.[\w.]+|result(\[.+\])?)$")  # addresses that are code


def code(scenario: Scenario, found: Difference, lines: int = REPORT_LINES) -> str:
    """Return the steps up to the difference as code, then the difference as a comment; in that many lines, if it can be."""
    texts = (_code(scenario.steps[: found.step + 1], found, most) for most in WRITTEN_OUT)
    text = ""
    for text in texts:
        if text.count("\n") < lines:
            break
    return text


def _code(steps: Sequence[Step], found: Difference, most: int) -> str:
    lines = ["import torch", *arguments.imports([vars(step) for step in steps], most)]
    build, late = None, any(isinstance(step, Backward) for step in steps)
    for number, step in enumerate(steps):
        if isinstance(step, Build):
            build = step
        if number == found.step and found.address.endswith(".grad") and any(map(_runs_backward, steps[:number])):
            lines.append("m.zero_grad()")
        if not isinstance(step, State):
            lines += _lines(step, build, late, most)
    if SHOWN.match(found.address):
        # A backward pass that was put off belongs to the earlier x.
        early = found.address == "x.grad" and isinstance(steps[-1], Backward)
        lines.append(f"print({'early_' if early else ''}{found.address})")
    elif isinstance(steps[-1], State):
        lines.append("print(m.state_dict())")
    return "\n".join([*lines, f"# {found.line}"])


def _runs_backward(step: Step) -> bool:
    return isinstance(step, Backward) or (isinstance(step, Forward) and step.grad is not None)


def _built(step: Build, most: int) -> str:
    given = _arguments(step, most)
    moved = f".to(torch.{step.dtype})" if step.dtype not in (None, "float32") else ""
    return f"{step.target}({', '.join(given)}){moved}"


def _lines(step: Step, build: Build | None, late: bool, most: int) -> list[str]:
    m = "net" if build is not None and build.child else "m"
    match step:
        case Build():
            return [f"m = {_built(step, most)}", *(["net = torch.nn.Sequential(m)"] if step.child else [])]
        case Cast():
            return [f"{m}.to(torch.{step.dtype})"]
        case Mode():
            if step.attribute:
                return [f"m.training = {step.training}"]
            return [f"{m}.train()" if step.training else f"{m}.eval()"]
        case Load():
            if step.fill:
                return [f"m.{k}.data.copy_({arguments.tensor(r, most)})" for k, r in step.state.items()]
            body = [f'    "{k}": {arguments.tensor(r, most)},' for k, r in step.state.items()]
            return ["m.load_state_dict({", *body, "})"]
        case Reload():
            if step.copy:
                return ["import copy", "m = copy.deepcopy(m)"]
            assert build is not None, "a Reload follows a Build"
            made = [
                f"fresh = {_built(build, most)}",
                "fresh.load_state_dict(m.state_dict())",
                "m = fresh.train(m.training)",
            ]
            return [*made, "net = torch.nn.Sequential(m)"] if build.child else made
        case Freeze():
            return [f"m.{name}.requires_grad_(False)" for name in step.names]
        case Put():
            return [f"m.{step.name} = {step.value!r}"]
        case Forward():
            needs = ".requires_grad_()" if step.x_requires_grad and step.grad_enabled else ""
            made = [f"x = {arguments.tensor(step.x, most)}{needs}"]
            if not step.grad_enabled:
                return [*made, "with torch.no_grad():", f"    y = {m}(x)"]
            made.append(f"y = {m}(x)")
            if step.later and late:
                made.append("early_x, early_y = x, y")
            return (
                made if step.grad is None or step.later else [*made, f"y.backward({arguments.tensor(step.grad, most)})"]
            )
        case Twin():
            assert build is not None, "a Twin follows a Build"
            return [
                f"twin = {_built(replace(build, kwargs={}), most)}",
                "with torch.no_grad():",
                f"    twin({arguments.tensor(step.x, most)})",
            ]
        case Backward():
            return [f"early_y.backward({arguments.tensor(step.grad, most)})"]
        case Call():
            return [f"result = {step.target}(", *(f"    {entry}," for entry in _arguments(step, most)), ")"]
        case Value():
            return [f"print({step.target})"]
        case State():
            return []


def _arguments(step: Build | Call, most: int) -> list[str]:
    return [arguments.argument(a, most) for a in step.args] + [
        f"{k}={arguments.argument(v, most)}" for k, v in step.kwargs.items()
    ]
