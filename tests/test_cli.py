"""`autograder`: exit codes that a script can rely on, JSON of a fixed shape, and words for a person who typed something wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder import cli
from autograder.commands import try_file
from autograder.errors import CourseError, ProtocolError, SandboxError, SandboxUnavailable, UsageError
from autograder.grading import grade
from autograder.grading.report import CheckResult, Diagnosis, Report
from autograder.kernel import launch

ROOT = Path(__file__).resolve().parents[1]
LAB = "lab01_batch_norm"
TOP = {"lab", "seed", "points", "max_points", "checks"}
OF_A_CHECK = {"name", "exercise", "points", "max_points", "passed", "message", "diagnosis"}
OF_A_DIAGNOSIS = {"id", "title", "page"}

NAMED = Diagnosis("an-id", "A title", "book/page.html#a", "A hint?")
REPORT = Report(
    LAB,
    "ada",
    3,
    4.0,
    6.0,
    (
        CheckResult("a", "BatchNorm1d", "first", 4.0, 4.0, True, "passed", evidence=("the source mentions x",)),
        CheckResult("b", "BatchNorm1d", "second", 0.0, 1.0, False, "y is off", NAMED, "import torch\n# y is off"),
        CheckResult("c", "BatchNorm1d", "third", 0.0, 1.0, False, "z is off", NAMED),
    ),
    notes=("Line 3 did not run",),
)


def main(*words: str) -> int:
    """The exit code of a command, also where argparse ends the program itself."""
    try:
        return cli.main(words)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Grading itself is left out; what it was asked for is noted."""
    asked: list[dict[str, Any]] = []

    def grade_source(text: str, lab: Any, **words: Any) -> Report:
        asked.append({"text": text, "lab": lab.name, **words})
        return REPORT

    monkeypatch.setattr(grade, "grade_source", grade_source)
    monkeypatch.setattr(launch, "begin", lambda: asked.append({"begun": True}))
    monkeypatch.chdir(ROOT)
    return asked


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A Python file."""
    path = tmp_path / "ada.py"
    path.write_text("x = 'é'\n", encoding="utf-8")
    return path


# --- try -------------------------------------------------------------------------------------------------------------------


def test_try_hands_over_what_was_typed(graded: list[dict[str, Any]], file: Path) -> None:
    """Seed, sandbox, limits, the text."""
    assert main("try", LAB, str(file), "--seed", "7", "--no-sandbox", "--cpu", "9", "--memory", "512") == 0
    [asked] = graded  # no template was begun
    assert (asked["text"], asked["lab"], asked["seed"], asked["sandboxed"]) == ("x = 'é'\n", LAB, 7, False)
    assert (asked["limits"].cpu_s, asked["limits"].memory_mb, asked["student"]) == (9, 512, "ada")


def test_without_a_seed_one_is_drawn(graded: list[dict[str, Any]], file: Path) -> None:
    """Another one each time, and in the sandbox."""
    for _ in range(4):
        assert main("try", LAB, str(file)) == 0
    assert len({asked["seed"] for asked in graded[1::2]}) > 1
    assert all(asked["sandboxed"] for asked in graded[1::2])
    assert graded[::2] == [{"begun": True}] * 4  # the template, each time before anything else


def test_the_json_has_exactly_these_keys(
    graded: list[dict[str, Any]], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing else on the standard output, so that it can be piped."""
    assert main("try", LAB, str(file), "--json", "--seed", "3") == 0
    body = json.loads(capsys.readouterr().out)
    assert set(body) == TOP
    assert (body["lab"], body["seed"], body["points"], body["max_points"]) == (LAB, 3, 4.0, 6.0)
    assert [set(check) for check in body["checks"]] == [OF_A_CHECK] * 3
    assert body["checks"][0]["diagnosis"] is None
    assert body["checks"][1] == {
        "name": "b",
        "exercise": "BatchNorm1d",
        "points": 0.0,
        "max_points": 1.0,
        "passed": False,
        "message": "y is off\n\nThe smallest call that shows it:\nimport torch\n# y is off",
        "diagnosis": {"id": "an-id", "title": "A title", "page": "book/page.html#a"},
    }


def test_the_text_is_for_a_person(graded: list[dict[str, Any]], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Points, notes, a line for each check; a mistake that costs two checks is told once."""
    assert main("try", LAB, str(file)) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{LAB}: 4 of 6 points (seed 3)\n")
    assert "note: Line 3 did not run" in out
    assert "ok   a " in out
    assert "FAIL b " in out
    assert out.count("This looks like: A title") == 1
    assert "\nb, c\n" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("try", "lab99", "FILE"), "There is no lab 'lab99'. The labs of"),
        (("try", LAB, "nowhere.py"), "nowhere.py cannot be read (No such file or directory)"),
        (("try", LAB, "."), "cannot be read (Is a directory)"),
        (("try", LAB, "LATIN"), "is not UTF-8 text"),
        (("try", LAB, "LARGE"), "holds more than"),
        (("try", LAB, "FILE", "--seed", "-1"), "--seed must be from 0"),
        (("try", LAB, "FILE", "--seed", str(2**63)), "--seed must be from 0"),
        (("try", LAB, "FILE", "--seed", "x"), "invalid int value: 'x'"),
        (("try", LAB, "FILE", "--cpu", "0"), "The limit cpu_s must be above zero"),
        (("try", LAB, "FILE", "--memory", "-5"), "The limit memory_mb must be above zero"),
        (("try", LAB, "FILE", "--cell", "inf"), "The limit wall_cell_s must be above zero and finite"),
        (("try", LAB), "the following arguments are required: FILE.py"),
        (("try",), "the following arguments are required"),
        (("try", LAB, "FILE", "--fast"), "unrecognized arguments: --fast"),
        (("grade", "lab99"), "There is no lab 'lab99'"),
        (("grade",), "the following arguments are required: LAB"),
        (("tri", LAB), "invalid choice: 'tri'"),
        ((), "the following arguments are required: COMMAND"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_words_that_are_off_end_with_2(
    graded: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    """With a sentence on the standard error, nothing on the standard output, and no grading."""
    (tmp_path / "FILE").write_text("x = 1\n")
    (tmp_path / "LATIN").write_bytes("x = 'é'\n".encode("latin-1"))
    (tmp_path / "LARGE").write_bytes(b"#" * (try_file.MAX_BYTES + 1))
    given = [str(tmp_path / word) if word in ("FILE", "LATIN", "LARGE") else word for word in words]
    assert main(*given) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "Traceback" not in err
    assert graded == []


@pytest.mark.parametrize(
    "error",
    [
        *(SandboxUnavailable("no box"), SandboxError("it broke"), CourseError("no course"), ProtocolError("odd")),
        *(KeyboardInterrupt(), RuntimeError("a bug")),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.usefixtures("graded")
def test_our_own_failures_end_with_3(
    monkeypatch: pytest.MonkeyPatch, file: Path, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    """Never a report, which would look like a zero; the sentence goes to the standard error."""

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(grade, "grade_source", fails)
    assert main("try", LAB, str(file), "--json") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert f"autograder try: {error}" in err or "stopped by the keyboard" in err or "a fault of the grader" in err
    assert ("Traceback" in err) == isinstance(error, RuntimeError)


def test_a_usage_error_of_a_command_ends_with_2(
    monkeypatch: pytest.MonkeyPatch, graded: list[dict[str, Any]], file: Path
) -> None:
    """Wherever in it the words turn out to be off."""

    def fails(*_: object, **__: object) -> None:
        raise UsageError("off")

    monkeypatch.setattr(grade, "grade_source", fails)
    assert main("try", LAB, str(file)) == 2


# --- grade -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def class_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course with one submission in it, which is never graded here."""
    for folder in ("labs", "solutions"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    handed_in = tmp_path / "submitted" / "ada" / LAB
    handed_in.mkdir(parents=True)
    shutil.copy(ROOT / "labs" / LAB / f"{LAB}.ipynb", handed_in)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NORMALIZATION_COURSE", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--jobs", "0"), "--jobs must be at least 1; 0 was given"),
        (("--jobs", "-3"), "--jobs must be at least 1; -3 was given"),
        (("--student", "zoe"), "zoe handed in nothing; 1 submissions are in"),
        (("--seed", "-1"), "--seed must be from 0"),
        (("--cell", "0"), "The limit wall_cell_s must be above zero"),
    ],
)
def test_grade_refuses_words_that_are_off(
    class_course: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    """Before anything is graded or written."""
    assert main("grade", LAB, *words) == 2
    assert said in capsys.readouterr().err
    assert not (class_course / "reports").exists()


def test_grade_needs_submissions(class_course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And says how they come to be there."""
    shutil.rmtree(class_course / "submitted")
    assert main("grade", LAB) == 2
    assert "nobody has handed it in" in capsys.readouterr().err


# --- the program itself ----------------------------------------------------------------------------------------------------


def program(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m autograder` in a process of its own."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, "-m", "autograder", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.parametrize(
    "words", [("--help",), ("try", "--help"), ("grade", "--help"), ("labs", "--help"), ("doctor", "--help")]
)
def test_help_comes_at_once(words: tuple[str, ...]) -> None:
    """Ends with 0, names the options, and loads no torch, no nbgrader, no numpy."""
    source = (
        "import sys\nfrom autograder.cli import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit as end:\n    print('code', end.code)\n"
        "print('loaded', *sorted({'torch', 'numpy', 'nbgrader', 'nbformat'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert "usage: autograder" in done.stdout
    assert "code 0" in done.stdout
    if words[0] != "labs":  # its own parser lies beside what makes labs
        assert done.stdout.rstrip().endswith("loaded")


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the program cannot be found; what other tests started with it is out of reach."""
    monkeypatch.setattr(launch, "_template", None)
    monkeypatch.setattr(launch, "_refused", "")
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, *a, **k: None if name == "bwrap" else which(name, *a, **k))


@pytest.mark.usefixtures("no_bubblewrap")
def test_without_bubblewrap_grading_refuses(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 3, with what to install and with the way round it."""
    assert main("try", LAB, str(file), "--json") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("autograder try: ")
    assert "bubblewrap" in err
    assert "autograder doctor" in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("no_bubblewrap")
def test_without_bubblewrap_no_sandbox_is_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the text says that it was taken."""
    (tmp_path / "none.py").write_text("BatchNorm1d = BatchNorm2d = None\n")
    assert main("try", LAB, str(tmp_path / "none.py"), "--no-sandbox", "--seed", "1") == 0
    out = capsys.readouterr().out
    assert "sandbox: none" in out
    assert f"{LAB}: 0 of 62 points (seed 1)" in out


@pytest.mark.sandbox
def test_the_reference_gets_full_points() -> None:
    """In the box, through the program: the names of the contract, their points, and nothing beside the JSON."""
    done = program("try", LAB, "solutions/reference/batch_norm.py", "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert (body["points"], body["max_points"]) == (62, 62)
    assert {check["exercise"] for check in body["checks"]} == {"BatchNorm1d", "BatchNorm2d", "batch_norm_backward"}
    assert all(set(check) == OF_A_CHECK for check in body["checks"])
    assert set(body) == TOP
    assert body["seed"] == 1
