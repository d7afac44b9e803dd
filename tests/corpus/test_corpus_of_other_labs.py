"""Other labs than the first, on files beyond the named ones: honest ones keep all points, wrong ones lose some.

`LAB/right/*.py` each solve a whole lab; `LAB/wrong/*.py` each spoil the exercise that their first line names, and say how. Those of
lab 4 are by an author who had read its notebook and nothing else; those of lab 5 make the same faults there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from running import graded, lab

from autograder.grading.course import lab_names

FOLDER = Path(__file__).parent
SEED = 20
LABS = [name for name in lab_names(FOLDER.parents[1]) if (FOLDER / name).is_dir()]
FIRST_LINE = re.compile(r"# wrong: (\w+): \S")
# Every so many run always, the others are marked slow.
OFTEN = 8


def files(kind: str) -> list[object]:
    """All files of a kind as parameters, most of them marked slow."""
    found = [path for name in LABS for path in sorted((FOLDER / name / kind).glob("*.py"))]
    return [
        pytest.param(path, id=f"{path.parts[-3]}-{path.stem}", marks=() if n % OFTEN == 0 else pytest.mark.slow)
        for n, path in enumerate(found)
    ]


def spoilt(path: Path) -> str:
    """The exercise that a wrong file names in its first line."""
    found = FIRST_LINE.match(path.read_text("utf8"))
    assert found, f"{path} does not begin with `# wrong: NAME: why`"
    return found[1]


@pytest.mark.parametrize("name", LABS)
def test_each_exercise_is_tried(name: str) -> None:
    """By wrong files of its own, in every lab that has a folder here."""
    assert {spoilt(path) for path in (FOLDER / name / "wrong").glob("*.py")} == set(lab(name).contract)


def test_the_corpus_is_large() -> None:
    """A file that got lost would be missed by nobody."""
    assert len(files("right")) >= 90
    assert len(files("wrong")) >= 320


@pytest.mark.parametrize("path", files("right"))
def test_an_honest_file_keeps_all_points(path: Path) -> None:
    """Whatever its style."""
    results = graded(path.read_text("utf8"), SEED, name=path.parts[-3])
    assert [f"{r.name}: {r.message}" for r in results if not r.passed] == []


@pytest.mark.parametrize("path", files("wrong"))
def test_a_wrong_file_loses_points(path: Path) -> None:
    """In the exercise that it spoils."""
    results = graded(path.read_text("utf8"), SEED, (spoilt(path),), path.parts[-3])
    assert [r.name for r in results if not r.passed] != []
