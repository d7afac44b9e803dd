"""Write a scenario as Python code that a student can paste below the solution and run, up to the step that failed.

Small tensors are written out, rounded to six digits; larger ones are drawn by this package's own recipe. The code is
for reading: it is never executed by the grader.
"""

from __future__ import annotations

import math

from autograder.checks.compare import Difference
from autograder.trace.scenario import (
    Argument,
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
    Value,
    draw,
    recipes,
)

ROW_LENGTH = 70  # characters of numbers that still stand on one line
WRITTEN_OUT = 40  # elements of a tensor that is still written as numbers
REPORT_LINES = 30


def code(scenario: Scenario, found: Difference) -> str:
    """Return the steps up to the difference as code, then the difference as a comment."""
    lines = ["import torch"]
    steps = scenario.steps[: found.step + 1]
    if any(_is_drawn(r) for step in steps for r in recipes(step)):
        lines.append("from autograder.trace.scenario import Recipe, draw")
    child = any(isinstance(step, Build) and step.child for step in steps)
    for number, step in enumerate(steps):
        lines += _lines(step, child)
        if number == found.step:
            lines.append(f"# {found.line}")
    return "\n".join("\n".join(lines).split("\n")[:REPORT_LINES])


def _lines(step: Step, child: bool) -> list[str]:
    m = "net" if child else "m"
    match step:
        case Build():
            given = [_argument(a) for a in step.args] + [f"{k}={_argument(v)}" for k, v in step.kwargs.items()]
            built = [f"m = {step.target}({', '.join(given)})"]
            if step.dtype not in (None, "float32"):
                built[0] += f".to(torch.{step.dtype})"
            return [*built, "net = torch.nn.Sequential(m)"] if step.child else built
        case Cast():
            return [f"{m}.to(torch.{step.dtype})"]
        case Mode():
            if step.attribute:
                return [f"m.training = {step.training}"]
            return [f"{m}.train()" if step.training else f"{m}.eval()"]
        case Load():
            if step.fill:
                return ["with torch.no_grad():", *(f"    m.{k}.copy_({_tensor(r)})" for k, r in step.state.items())]
            body = ", ".join(f'"{k}": {_tensor(r)}' for k, r in step.state.items())
            return [f"m.load_state_dict({{{body}}})"]
        case Reload():
            if step.copy:
                return ["import copy", "m = copy.deepcopy(m)"]
            return ["fresh = type(m)(...)  # the same arguments", "fresh.load_state_dict(m.state_dict())", "m = fresh"]
        case Freeze():
            return [f"m.{name}.requires_grad_(False)" for name in step.names]
        case Forward():
            needs = ".requires_grad_()" if step.x_requires_grad and step.grad_enabled else ""
            made = [f"x = {_tensor(step.x)}{needs}"]
            if not step.grad_enabled:
                return [*made, "with torch.no_grad():", f"    y = {m}(x)"]
            made.append(f"y = {m}(x)")
            return made if step.grad is None else [*made, f"y.backward({_tensor(step.grad)})"]
        case Backward():
            return [f"y.backward({_tensor(step.grad)})  # of the earlier x and y"]
        case State():
            return ["print(m.state_dict())"]
        case Call():
            given = [_argument(a) for a in step.args] + [f"{k}={_argument(v)}" for k, v in step.kwargs.items()]
            return [f"result = {step.target}(", *(f"    {entry}," for entry in given), ")"]
        case Value():
            return [f"print({step.target})"]


def _is_drawn(recipe: Recipe) -> bool:
    return math.prod(recipe.shape) > WRITTEN_OUT


def _argument(given: Argument) -> str:
    return _tensor(given) if isinstance(given, Recipe) else repr(given)


def _tensor(recipe: Recipe) -> str:
    if _is_drawn(recipe):
        text = f"torch.from_numpy(draw({_recipe(recipe)}))"
    else:
        numbers = _nested(draw(recipe).tolist())
        if len(numbers) > ROW_LENGTH:
            numbers = numbers.replace("], ", "],\n        ")  # inside brackets, so any indentation will do
        text = f"torch.tensor({numbers}, dtype=torch.{recipe.dtype})"
        if math.prod(recipe.shape) == 0:
            text = f"torch.zeros({recipe.shape}, dtype=torch.{recipe.dtype})"
    return text + _layout(recipe)


def _recipe(recipe: Recipe) -> str:
    plain = Recipe(recipe.shape)
    given = [
        f"{key}={value!r}"
        for key, value in vars(recipe).items()
        if key not in ("shape", "layout") and value != getattr(plain, key)
    ]
    return f"Recipe({', '.join([repr(recipe.shape), *given])})"


def _layout(recipe: Recipe) -> str:
    match recipe.layout:
        case "transposed":
            order = list(range(len(recipe.shape)))[::-1]
            return f".permute({order}).contiguous().permute({order})"
        case "strided":
            return ".repeat_interleave(2, -1)[..., ::2]"
        case "channels_last" if len(recipe.shape) == 4:
            return ".contiguous(memory_format=torch.channels_last)"
        case _:
            return ""


def _nested(given: object) -> str:
    if isinstance(given, list):
        return f"[{', '.join(_nested(part) for part in given)}]"
    return f"{given:.6g}" if isinstance(given, float) else repr(given)
