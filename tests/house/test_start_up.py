"""What is imported when: nobody waits for torch, nbgrader or a grammar that the command at hand does not need.

Times are measured in bench/, not here; what an import drags in is the same on every machine.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLOW = {
    "torch",
    "numpy",
    "nbformat",
    "nbgrader",
    "sqlalchemy",
    "IPython",
    "rich",
    "distributed",
    "lark",
    "arrow",
    "sympy",
}


def loaded(source: str) -> set[str]:
    """Return which of the slow packages a program has imported in the end."""
    told = (
        f"{source}\nimport sys\nprint(*sorted({SLOW!r} & {{name for name, module in sys.modules.items() if module}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("autograder.cli", ""),
        ("autograder.commands.try_file", ""),
        ("autograder.commands.grade_class", "rich"),  # the bar
        ("autograder.grading.place", ""),
        ("autograder.grading.work", ""),  # a worker begins with it, before it imports torch
        ("autograder.kernel.launch", ""),  # so that the template imports torch at the same time
        ("autograder.sandbox.doctor", ""),
        ("autograder.student", "numpy"),
        ("autograder.commands.grade_class, autograder.plugins.record", "rich nbformat nbgrader sqlalchemy IPython"),
        ("autograder.grading.grade", "numpy torch"),
        ("autograder.grading.worker", "numpy torch"),
    ],
)
def test_no_more_is_imported_than_is_needed(module: str, allowed: str) -> None:
    """A module, and the slow packages that it may import."""
    assert loaded(f"import {module}") <= set(allowed.split())


def test_a_slow_import_is_seen() -> None:
    """The measure itself: it knows what is loaded from what is only marked as absent."""
    assert "numpy" in loaded("import numpy")
    assert loaded("import sys; sys.modules['torch'] = None") == set()


def test_a_scenario_with_a_backward_pass_does_not_wait_for_a_computer_algebra_system() -> None:
    """Neither in a kernel nor where the reference runs."""
    source = """
import torch
from autograder.probe.run import run
from autograder.trace.scenario import Build, Forward, Recipe, Scenario

x = Recipe((2, 3), 1, dtype="float32")
steps = (Build("Linear", (3, 3)), Forward(x, grad=Recipe((2, 3), 2, dtype="float32")))
[trace] = run([Scenario("one", steps)], {"Linear": torch.nn.Linear})
assert "x.grad" in trace.observations[-1].seen, trace
"""
    assert loaded(source) <= {"torch", "numpy"}


def test_imports_leave_no_switch_turned() -> None:
    """The search for garbage goes on, and the environment is as it was, also after an error."""
    source = """
import gc, os
from autograder.grading.importing import PLUGINS, importing
for before in ({}, {PLUGINS: "1"}):
    os.environ.pop(PLUGINS, None)
    os.environ.update(before)
    try:
        with importing():
            assert not gc.isenabled() and os.environ[PLUGINS] == before.get(PLUGINS, "0")
            raise ImportError
    except ImportError:
        pass
    assert gc.isenabled() and os.environ.get(PLUGINS) == before.get(PLUGINS)
    assert gc.get_freeze_count() > 0
"""
    assert loaded(source) == set()


def test_what_is_there_after_the_first_work_is_not_looked_through_again() -> None:
    """Rubbish is not kept with it, later rubbish is found, and to settle twice is to settle once."""
    source = """
import gc, weakref
from autograder.grading.importing import settle
class Ring:
    def __init__(self):
        self.me = self
early, held = weakref.ref(Ring()), [{} for _ in range(1000)]
young, middle, full = gc.get_threshold()
settle()
frozen = gc.get_freeze_count()
assert early() is None and frozen > 1000
assert gc.isenabled() and gc.get_threshold() == (young, middle, 3 * full)
more = [{} for _ in range(1000)]
settle()
assert gc.get_freeze_count() <= frozen
late = weakref.ref(Ring())
gc.collect()
assert late() is None
"""
    assert loaded(source) == set()


def test_notebooks_are_validated_without_the_grammar_of_addresses() -> None:
    """The format's schema works as before, and what somebody else had imported first stays."""
    source = """
import autograder.grading, nbformat
nbformat.validate({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
try:
    nbformat.validate({"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
except nbformat.ValidationError:
    pass
else:
    raise SystemExit("it was not validated")
"""
    assert loaded(source) == {"nbformat"}
    assert "lark" in loaded("import rfc3987_syntax, autograder.grading, nbformat; rfc3987_syntax.is_valid_syntax")
