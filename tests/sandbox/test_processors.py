"""How many processors there are for this process: neither more than it may run on, nor more than its groups have time for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from autograder.sandbox import groups
from autograder.sandbox.processors import processors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="affinity and cgroup v2 are Linux'")


@pytest.fixture
def hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The group of this process, made up, with one above it; this process may run on eight processors."""
    own = tmp_path / "job"
    own.mkdir()
    monkeypatch.setattr(groups, "places", lambda: iter((own, tmp_path)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    return own


@pytest.mark.parametrize(
    ("own", "above", "count"),
    [
        (None, None, 8),  # not all 64 of the machine
        ("max 100000", "max 100000", 8),
        ("200000 100000", "max 100000", 2),
        ("max 100000", "300000 100000", 3),
        ("400000 100000", "200000 100000", 2),
        ("200000 100000", "400000 100000", 2),
        ("150000 100000", None, 2),
        ("20000 100000", None, 1),
        ("1600000 100000", None, 8),
        ("100000 50000", None, 2),
        ("what is this", None, 8),
        ("x y", None, 8),
        ("", None, 8),
        ("100000 0", None, 8),
    ],
)
def test_the_smallest_bound_counts(hierarchy: Path, own: str | None, above: str | None, count: int) -> None:
    for group, text in ((hierarchy, own), (hierarchy.parent, above)):
        if text is not None:
            (group / "cpu.max").write_text(text + "\n")
    assert processors() == count


def test_where_nothing_is_bounded_it_is_the_machines_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "places", lambda: iter(()))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert processors() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors() == 1
