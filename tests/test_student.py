"""`check("name")` in a notebook: offline, short, honest about what is wrong, and silent about predictions."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from autograder.checks import render
from autograder.errors import UsageError
from autograder.grading.judge import namespace
from autograder.student import NotPassed, check
from solutions.lab01_batch_norm.checks import LAB
from solutions.lab01_batch_norm.variants import VARIANTS

ROOT = Path(__file__).resolve().parents[1]
JUDGED = [entry.name for entry in LAB.checks if not entry.secret]
PREDICTIONS = [entry for entry in LAB.checks if entry.secret]
SAMPLE = LAB.mistakes[3::11]
BY_AUTOGRAD = next(mistake.source for mistake in LAB.mistakes if mistake.id == "backward-autograd-grad")
MOST_LINES = 3 + render.REPORT_LINES  # 25: a screen


@pytest.mark.parametrize("name", JUDGED)
def test_the_reference_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line that says what was promised and what it will be worth."""
    check(name, LAB.reference)
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: passed ({LAB.check(name).title}; ")
    assert out.count("\n") == 1


@pytest.mark.parametrize("variant", VARIANTS[::5], ids=lambda variant: variant.id)
def test_an_honest_style_passes(variant: Any) -> None:
    """Every check of the contract."""
    names = namespace(variant.file, variant.id)
    for entry in LAB.checks:
        if entry.contract:
            check(entry.name, names)


@pytest.mark.parametrize("mistake", SAMPLE, ids=lambda mistake: mistake.id)
def test_a_mistake_does_not_pass(mistake: Any) -> None:
    """Its own check says so, on one screen, and does not say the answer."""
    with pytest.raises(NotPassed) as caught:
        check(mistake.check, namespace(mistake.source, mistake.id))
    message = str(caught.value)
    assert message.startswith(f"{mistake.check}: not yet")
    assert len(message.split("\n")) <= MOST_LINES
    assert "BatchNorm1d(nn.Module)" not in message


def test_a_failing_check_counts_and_shows_the_smallest_call() -> None:
    """How many scenarios agree, which one does not, the code."""
    with pytest.raises(NotPassed) as caught:
        check("step-normalize", {"normalize": lambda x, mean, var, eps: (x - mean) / (var**0.5 + eps)})
    lines = str(caught.value).split("\n")
    assert lines[0].startswith("step-normalize: not yet (")
    assert "result[" in lines[1]
    assert lines[2] == "The smallest call that shows it:"
    assert lines[3] == "import torch"
    assert lines[-1].startswith("# result[")


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        (
            "bn1d-training",
            "import torch\nclass BatchNorm1d(torch.nn.BatchNorm1d): pass",
            r"uses .*torch\.nn\.BatchNorm1d",
        ),
        ("bnb-input", BY_AUTOGRAD, "uses torch's autograd; here you do that work yourself"),
        ("bn1d-training", "x = 1", "BatchNorm1d is not defined: write it, or run the cell"),
    ],
)
def test_other_reasons_are_told(name: str, source: str, words: str) -> None:
    """Torch's own layer, its autograd, a cell that was not run."""
    with pytest.raises(NotPassed, match=words):
        check(name, namespace(source, "s"))


# --- predictions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", PREDICTIONS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("value", [0.0, -123.5, 7])
def test_a_prediction_is_noted_and_not_judged(entry: Any, value: float, capsys: pytest.CaptureFixture[str]) -> None:
    """Right or wrong, the answer is the same sentence, so that it stays a prediction."""
    check(entry.name, {entry.exercise: value})
    wrong = capsys.readouterr().out
    check(entry.name, LAB.reference)
    right = capsys.readouterr().out
    assert wrong.replace(f"{value:g}", "V") == right.replace(f"{LAB.reference[entry.exercise]:g}", "V")
    assert "passed" not in wrong


@pytest.mark.parametrize("value", [None, "1.5", [1], True, ...])
def test_a_prediction_must_be_a_number(value: object) -> None:
    """Else it would be zero points for a slip of the keyboard."""
    entry = PREDICTIONS[0]
    with pytest.raises(NotPassed, match=f"Set {entry.exercise} to a number"):
        check(entry.name, {} if value is ... else {entry.exercise: value})


def test_practice_holds_no_answer_to_a_prediction() -> None:
    """Nor anything of the reference but numbers at the addresses that checks look at."""
    import zipfile

    with zipfile.ZipFile(ROOT / "autograder" / "practice" / f"{LAB.name}.zip") as archive:
        names = set(archive.namelist())
        entries = json.loads(archive.read("checks.json"))
        text = archive.read("checks.json").decode()
    assert names == {"checks.json", *(f"{name}.safetensors" for name in JUDGED)}
    for entry in PREDICTIONS:
        assert str(LAB.reference[entry.exercise])[:6] not in json.dumps(entries[entry.name])
        assert "tolerances" not in entries[entry.name]
    assert "def " not in text
    assert "class " not in text


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    """As a usage error, in one line."""
    with pytest.raises(UsageError, match=r"There is no check 'bn1d-trainin'\. There are: \w") as caught:
        check("bn1d-trainin", {})
    assert "bnb-numerics" in str(caught.value)


# --- in a notebook ---------------------------------------------------------------------------------------------------------


@cache
def shell() -> InteractiveShell:
    """IPython as a notebook's kernel runs it."""
    made: InteractiveShell = InteractiveShell.instance()
    made.run_cell("from autograder.student import check")
    return made


def cell(source: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a cell shows."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = shell().user_module
    try:
        shell().run_cell(source)
    finally:
        sys.modules["__main__"] = main
    return capsys.readouterr().out


def test_a_notebook_shows_the_message_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither ours nor the notebook's own line."""
    shown = cell("def normalize(x, mean, var, eps):\n    return x\ncheck('step-normalize')", capsys)
    assert shown.startswith("step-normalize: not yet")
    assert "Traceback" not in shown
    assert "student.py" not in shown
    assert len(shown.strip().split("\n")) <= MOST_LINES


def test_a_notebook_shows_the_students_own_line_where_it_failed(capsys: pytest.CaptureFixture[str]) -> None:
    """The innermost one, and no frame of the grader's or torch's."""
    shown = cell("def normalize(x, mean, var, eps):\n    return x @ mean @ mean\ncheck('step-normalize')", capsys)
    assert "(in normalize: `return x @ mean @ mean`)" in shown
    assert "probe" not in shown
    assert "site-packages" not in shown


def test_a_notebook_finds_its_own_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are defined when the check runs."""
    source = "def normalize(x, mean, var, eps):\n    return (x - mean) / (var + eps) ** 0.5\ncheck('step-normalize')"
    assert cell(source, capsys).startswith("step-normalize: passed")


def test_a_notebook_shows_an_unknown_name_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A slip of the keyboard is no reason for a page of our code."""
    shown = cell("check('nope')", capsys)
    assert shown.startswith("There is no check 'nope'.")
    assert shown.strip().count("\n") == 0


def test_importing_check_loads_no_torch() -> None:
    """The set-up cell answers at once; the first check waits for torch."""
    source = "import sys\nfrom autograder.student import check\nprint('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_a_check_opens_no_connection() -> None:
    """It works in a train: sockets are refused, and nothing of nbgrader or the grader is loaded."""
    source = """
import socket, sys
def refuse(*a, **k):
    raise OSError("offline")
socket.socket.connect = socket.getaddrinfo = refuse
from autograder.student import check
check("step-normalize", {"normalize": lambda x, mean, var, eps: (x - mean) / (var + eps) ** 0.5})
print(sorted(name for name in sys.modules if name.startswith(("solutions", "autograder.grading", "autograder.kernel", "nbgrader"))))
"""
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split("\n")[1] == "[]"
