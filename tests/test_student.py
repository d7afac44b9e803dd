"""`check("name")` in a notebook: offline, short, honest about what is wrong, silent about predictions, and it names mistakes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from autograder.errors import UsageError
from autograder.grading.judge import namespace
from autograder.practice.progress import NOTED, PASSED
from autograder.practice.view import View
from autograder.student import NotPassed, WrongObject, check
from solutions.lab01_batch_norm.checks import LAB
from solutions.lab01_batch_norm.variants import VARIANTS

ROOT = Path(__file__).resolve().parents[1]
JUDGED = [entry.name for entry in LAB.checks if not entry.secret]
PREDICTIONS = [entry for entry in LAB.checks if entry.secret]
SAMPLE = LAB.mistakes[3::11]
BY_AUTOGRAD = next(mistake.source for mistake in LAB.mistakes if mistake.id == "backward-autograd-grad")
UNBIASED = next(mistake for mistake in LAB.mistakes if mistake.id == "unbiased-variance-1d")
MOST_LINES = 25  # a screen: what is shown, and the line of the error


def stub(*_: Any, **__: Any) -> Any:
    """What stands in a cell of the lab until the student writes there."""
    raise NotImplementedError("Write this part, and delete this line.")


STUBS = {entry.exercise: stub for entry in LAB.checks if not entry.secret}


@pytest.fixture(autouse=True)
def a_new_kernel() -> None:
    """No check has passed yet."""
    PASSED.clear()
    NOTED.clear()


def refused(name: str, names: Mapping[str, Any], **more: Any) -> View:
    """What a check shows that does not pass."""
    with pytest.raises(NotPassed) as caught:
        check(name, namespace=names, **more)
    return caught.value.view


@pytest.mark.parametrize("name", JUDGED)
def test_the_reference_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line that says what was promised and what it will be worth, and one on where the lab stands."""
    check(name, namespace=LAB.reference)
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: passed ({LAB.check(name).title}; ")
    assert out.split("\n")[1].endswith(
        f"Lab 1: {LAB.check(name).points:g} of 78 points pass here, since the kernel started"
    )
    assert out.count("\n") == 2


@pytest.mark.parametrize("variant", VARIANTS[::5], ids=lambda variant: variant.id)
def test_an_honest_style_passes(variant: Any) -> None:
    """Every check of the contract."""
    names = namespace(variant.file, variant.id)
    for entry in LAB.checks:
        if entry.contract:
            check(entry.name, namespace=names)


@pytest.mark.parametrize("mistake", SAMPLE, ids=lambda mistake: mistake.id)
def test_a_mistake_does_not_pass_and_is_named(mistake: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own check says so, on one screen, by its title, and does not say the answer."""
    view = refused(mistake.check, namespace(mistake.source, mistake.id))
    shown = capsys.readouterr().out
    assert shown.startswith(f"{mistake.check}: not yet (")
    assert f"This looks like: {mistake.title}" in " ".join(shown.split())
    assert f"{mistake.page.removesuffix('.html').replace('.html', '.md')}" in shown
    assert shown.strip().count("\n") + 2 <= MOST_LINES
    assert "BatchNorm1d(nn.Module)" not in shown + view._repr_html_()


def test_a_failing_check_counts_and_shows_the_smallest_call() -> None:
    """How many scenarios agree, which one does not, the code."""
    view = refused("step-normalize", {"normalize": lambda x, mean, var, eps: (x - mean) / (var**0.5 + eps)})
    lines = str(view).split("\n")
    assert lines[0].startswith("step-normalize: not yet (centre and scale; ")
    assert lines[0].endswith(" of 3 scenarios agree)")
    assert lines[1].startswith("  no  result[")
    assert lines[2] == "The smallest call that shows it:"
    assert lines[3] == "    import torch"
    assert [line for line in lines if line.startswith("    # result[")]


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
    assert re.search(words, str(refused(name, namespace(source, "s"))))


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("names", [{}, STUBS], ids=["nothing was run", "nothing was written"])
def test_with_nothing_filled_in_a_check_says_what_to_do(name: str, names: Mapping[str, Any]) -> None:
    """In a few lines: no code, no diagnosis, no traceback of ours."""
    view = refused(name, names)
    text = str(view)
    assert text.count("\n") <= 4
    assert ("run the cell" in text) if not names else ("Write your answer where the cell says so" in text)
    assert "autograder" not in text
    assert view.code == ""
    assert view.diagnoses == ()


# --- the object itself -----------------------------------------------------------------------------------------------------


def test_an_object_can_be_given() -> None:
    """Whatever its name is in the notebook, and whatever else stands there."""
    check("step-normalize", LAB.reference["normalize"])
    with pytest.raises(NotPassed):
        check("step-normalize", lambda x, mean, var, eps: x)
    check("bn1d-ncl", LAB.reference["BatchNorm1d"], namespace={"BatchNorm1d": None})
    check(PREDICTIONS[0].name, 1.5)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("bn1d-training", torch.nn.Identity(), "checks the class BatchNorm1d; it was given an object of type Identity"),
        ("bn1d-training", 3, "checks the class BatchNorm1d; it was given an object of type int"),
        ("step-normalize", torch.ones(2), "checks the function normalize; it was given an object of type Tensor"),
    ],
)
def test_an_object_of_another_kind_is_refused(name: str, given: object, words: str) -> None:
    """With what to give instead."""
    with pytest.raises(WrongObject, match=words) as caught:
        check(name, given)
    assert "without brackets" in str(caught.value)


# --- hints and progress ----------------------------------------------------------------------------------------------------


def test_hints_come_in_steps() -> None:
    """First how to think about it, then what the mistake does; each step tells how to get the next."""
    names = namespace(UNBIASED.source, UNBIASED.id)
    none, one, two = (" ".join(str(refused(UNBIASED.check, names, hints=hints)).split()) for hints in (0, 1, 2))
    assert UNBIASED.hint not in none
    assert 'check("bn1d-training", hints=1)' in none
    assert UNBIASED.hint in one
    assert UNBIASED.symptom not in one
    assert 'check("bn1d-training", hints=2)' in one
    assert UNBIASED.hint in two
    assert UNBIASED.symptom in two
    assert "hints=" not in two


def test_points_add_up_and_a_spoilt_check_loses_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Each check counts once, as it went the last time."""
    for _ in range(2):
        check("bn1d-ncl", namespace=LAB.reference)
    check("bn1d-running", namespace=LAB.reference)
    assert "Lab 1: 7 of 78 points pass here" in capsys.readouterr().out
    refused("bn1d-ncl", {})
    assert "Lab 1: 4 of 78 points pass here" in capsys.readouterr().out
    check(PREDICTIONS[0].name, namespace=LAB.reference)
    assert "4 of 78 points pass here, since the kernel started; 1 for predictions" in capsys.readouterr().out


# --- predictions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", PREDICTIONS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("value", [0.0, -123.5, 7])
def test_a_prediction_is_noted_and_not_judged(entry: Any, value: float, capsys: pytest.CaptureFixture[str]) -> None:
    """Right or wrong, the answer is the same sentence, so that it stays a prediction."""
    check(entry.name, namespace={entry.exercise: value})
    wrong = capsys.readouterr().out
    check(entry.name, namespace=LAB.reference)
    right = capsys.readouterr().out
    answer = LAB.reference[entry.exercise]
    assert wrong.replace(f"= {value:g};", "= V;") == right.replace(f"= {answer:g};", "= V;")
    assert "passed" not in wrong


@pytest.mark.parametrize("value", [None, "1.5", [1], True, ...])
def test_a_prediction_must_be_a_number(value: object) -> None:
    """Else it would be zero points for a slip of the keyboard."""
    entry = PREDICTIONS[0]
    view = refused(entry.name, {} if value is ... else {entry.exercise: value})
    assert f"Set {entry.exercise} to a number" in str(view)


@pytest.mark.parametrize("name", ["bn1d-trainin", "", "BatchNorm1d", list, ["bn1d-training"]])
def test_an_unknown_name_is_answered_in_one_line(name: Any) -> None:
    """As a usage error."""
    with pytest.raises(UsageError, match=r"There is no check .*\. (Did you mean|Copy the name)") as caught:
        check(name, namespace={})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_slip_of_the_keyboard_is_answered_with_the_name() -> None:
    """The nearest ones."""
    with pytest.raises(UsageError, match="Did you mean 'bn1d-training'"):
        check("bn1d-trainin", namespace={})


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


def test_a_notebook_is_given_a_page_and_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both, so that each place shows what it can; then the error, in one line."""
    published: list[dict[str, str]] = []
    monkeypatch.setattr(shell().display_pub, "publish", lambda data, *a, **k: published.append(data))
    monkeypatch.setattr(sys, "modules", {**sys.modules, "__main__": shell().user_module})
    done = shell().run_cell("def normalize(x, mean, var, eps):\n    return x\ncheck('step-normalize')")
    assert isinstance(done.error_in_exec, NotPassed)
    assert done.error_in_exec._render_traceback_() == [str(done.error_in_exec)]
    (data,) = published
    assert data["text/plain"].startswith("step-normalize: not yet (centre and scale; 0 of 3 scenarios agree)\n")
    assert 'class="nc-check"' in data["text/html"]


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
check("step-normalize", lambda x, mean, var, eps: (x - mean) / (var + eps) ** 0.5)
print(sorted(name for name in sys.modules if name.startswith(("solutions", "autograder.grading", "autograder.kernel", "nbgrader"))))
"""
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split("\n")[2] == "[]"
