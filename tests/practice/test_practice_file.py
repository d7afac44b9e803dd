"""The practice files: small, without answers, enough to check and to name mistakes with nothing but the wheel."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from autograder.grading.course import load_lab
from autograder.grading.judge import namespace
from autograder.practice.file import CHECKS, KNOWN, NUMBERS, UnknownCheck, lab_of, practice_labs
from autograder.probe.run import run
from autograder.student import NotPassed, check

ROOT = Path(__file__).resolve().parents[2]
LABS = practice_labs()
MOST_BYTES = 2_000_000  # of all practice files together
MOST_BYTES_OF_ONE = 900_000
SLOWEST = 4.0  # times what running an exercise's scenarios costs anyway


def content(name: str) -> dict[str, bytes]:
    """The files in a practice file."""
    with zipfile.ZipFile(ROOT / "autograder" / "practice" / f"{name}.zip") as archive:
        return {entry: archive.read(entry) for entry in archive.namelist()}


def test_all_practice_files_together_are_small() -> None:
    """They are in every student's wheel."""
    sizes = {path.name: path.stat().st_size for path in (ROOT / "autograder" / "practice").glob("*.zip")}
    assert sizes
    assert sum(sizes.values()) < MOST_BYTES, sizes
    assert max(sizes.values()) < MOST_BYTES_OF_ONE, sizes


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_practice_file_has_numbers_and_words_and_no_answer(lab) -> None:
    """No prediction's value, no code, no number at an address that no check looks at."""
    parts, checks = content(lab.name), lab.checks
    judged = {name for name, entry in checks.items() if not entry.secret}
    known = {name for name in parts if name.endswith(KNOWN)}
    assert set(parts) == {CHECKS, *(name + NUMBERS for name in judged), *known}
    entries = json.loads(parts[CHECKS])
    for name in set(checks) - judged:
        assert "tolerances" not in entries[name]
        assert name + NUMBERS not in parts
    for name in (CHECKS, *known):
        text = parts[name].decode()
        for code in ("def ", "lambda", "import ", "class B", "return "):
            assert f"\\n{code}" not in text
            assert f"    {code}" not in text
    for name in judged:
        for expected in lab.expected(name):
            for observation in expected.trace.observations:
                assert all(checks[name].looks_at(address) for address in observation.seen)
                assert observation.failure is None or observation.failure.message == ""


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_of_a_prediction_only_the_question_is_in_the_file(lab) -> None:
    """A name to look at; no number but the points."""
    entries = json.loads(content(lab.name)[CHECKS])
    for name, entry in lab.checks.items():
        if entry.secret:
            (scenario,) = entries[name].pop("scenarios")
            assert scenario["steps"] == [{"$": "Value", "target": entry.exercise}]
            numbers = [key for key, value in entries[name].items() if not isinstance(value, bool | str | list)]
            assert numbers == ["points"]


def test_names_of_checks_are_unique_over_all_labs() -> None:
    """A check is asked for by its name alone."""
    names = [name for lab in LABS for name in lab.checks]
    assert len(names) == len(set(names))


def test_an_unknown_check_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(UnknownCheck, match="Did you mean 'bn1d-running'"):
        lab_of("bn1d-runing")


def test_an_exercise_without_mistakes_has_no_known_ones() -> None:
    assert lab_of("step-normalize").known("normalize") == ()
    assert lab_of("bn1d-training").known("BatchNorm1d") != ()


def test_the_wheel_alone_checks_and_names_a_mistake(tmp_path: Path) -> None:
    """In a process that has neither the course's folder nor its solutions."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    mistake = next(m for m in load_lab(ROOT, "lab01_batch_norm").mistakes if m.id == "unbiased-variance-1d")
    source = f"""
import importlib.util, json, sys
sys.path[:] = [path for path in sys.path if path not in ("", {str(ROOT)!r})]
sys.path.insert(0, {str(tmp_path / "site")!r})
assert importlib.util.find_spec("solutions") is None
{mistake.source}
from autograder.student import NotPassed, check
try:
    check("bn1d-training")
except NotPassed:
    pass
import autograder
print(autograder.__file__)
print(sorted({{name.split(".")[0] for name in sys.modules}} & {{"solutions", "nbgrader", "nbconvert", "jinja2"}}))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert f"This looks like: {mistake.title}" in done.stdout
    assert done.stdout.split("\n")[-3].startswith(str(tmp_path))
    assert done.stdout.split("\n")[-2] == "[]"


def test_a_check_with_a_diagnosis_costs_little_more_than_its_scenarios() -> None:
    """A ratio, since machines differ: naming a mistake costs a few runs of the exercise at most."""
    mistake = next(m for m in load_lab(ROOT, "lab01_batch_norm").mistakes if m.id == "unbiased-variance-1d")
    names, lab = namespace(mistake.source, mistake.id), lab_of("bn1d-training")
    times: dict[str, list[float]] = {"check": [], "run": []}
    for _ in range(4):
        begin = time.process_time()
        with pytest.raises(NotPassed):
            check("bn1d-training", namespace=names)
        middle = time.process_time()
        for other in lab.exercise("BatchNorm1d"):
            run(lab.scenarios(other.name), names)
        times["check"].append(middle - begin)
        times["run"].append(time.process_time() - middle)
    assert min(times["check"][1:]) < SLOWEST * min(times["run"][1:]), times
