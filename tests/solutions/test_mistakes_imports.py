"""To look for a mistake costs a worker what the mistake does, and not an import that takes as long as a class of ten."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autograder.grading.place import find_course

COURSE = find_course()
RUNS = """
import sys
from pathlib import Path
from autograder.grading.course import load_lab
from autograder.grading.judge import Judge
lab = load_lab(Path(sys.argv[1]), sys.argv[2])
judge = Judge(lab, 1)
looked_for = [mistake for mistake in lab.mistakes if "backward" in mistake.source or "autograd" in mistake.source]
for mistake in looked_for:
    judge.mistaken(mistake, lab.check(mistake.check), 0)
print(len(looked_for), "sympy" in sys.modules)
"""


@pytest.mark.parametrize("lab", ["lab01_batch_norm", "lab02_layer_norm", "lab03_group_norm"])
def test_no_mistake_of_a_backward_pass_imports_sympy(lab: str) -> None:
    """torch does when it is given gradients to begin with; a sum of products needs none."""
    told = subprocess.run(
        [sys.executable, "-c", RUNS, COURSE, lab], capture_output=True, text=True, check=True, timeout=120, cwd=COURSE
    )
    count, imported = told.stdout.split()
    assert int(count) > 3
    assert imported == "False"
