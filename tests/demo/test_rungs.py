"""However a class is graded, its reports are the same, letter by letter: what differs is the time it takes."""

from __future__ import annotations

import base64
import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import pytest

from autograder.kernel import launch
from scripts.demo_class import LAB, members
from tests.conftest import run_elsewhere

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
# Right, wrong, ends its kernel, forges a score, hides what it calls, has two copies of a cell.
SAME = [member for member in members(ROOT) if member.student in ("ada", "dana", "lena", "milo", "quin", "gus")]


@dataclass(frozen=True)
class Way:
    """How a class is graded."""

    workers: int
    at_once: int
    kernels: str = "warm"
    ordinary: bool = False


ONE_BY_ONE = Way(1, 1)
OTHERS = [
    pytest.param(Way(2, 3), id="two workers, three at once"),
    pytest.param(Way(2, 1, kernels="cold"), id="cold kernels"),
    pytest.param(
        Way(1, 2, ordinary=True),
        id="an ordinary user",
        marks=pytest.mark.skipif(
            os.geteuid() != 0, reason="only root can become another user, and this is one already"
        ),
    ),
]


@cache
def reports(way: Way) -> dict[str, str]:
    """Return everyone's report as text."""
    order = {
        **asdict(way),
        "lab": LAB.name,
        "seed": 11,
        "submissions": {member.student: base64.b64encode(member.content).decode() for member in SAME},
    }
    found = run_elsewhere("one_crew.py", order, ordinary=way.ordinary)
    assert isinstance(found, dict)
    return found


def test_kernels_are_warm_here_unless_they_are_told_not_to_be() -> None:
    """Else the tests below compare cold ones with cold ones."""
    assert launch.template() is not None, launch.why_cold()


@pytest.mark.parametrize("way", OTHERS)
def test_the_reports_do_not_tell_how_they_were_made(way: Way) -> None:
    """One worker or several, one kernel at a time or many, warm or cold, root or not."""
    assert sorted(reports(way)) == sorted(member.student for member in SAME)
    assert reports(way) == reports(ONE_BY_ONE)
    assert not [text for text in reports(ONE_BY_ONE).values() if text.startswith("trouble")]
