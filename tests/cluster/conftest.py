"""Two workers on the loopback, and the tiny course that they grade with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.loopback import Loopback, make_certificates
from tests.plugins.conftest import Course, course_template

__all__ = ["course_template"]  # a fixture of the plug-ins' tests, used here as well


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificates of a cluster."""
    return make_certificates(tmp_path_factory.mktemp("tls") / "certificates")


@pytest.fixture(scope="session")
def two_workers(course_template: Path, tls: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    """A scheduler and two workers, each a process of its own with a grader of its own."""
    loopback = Loopback(course_template, tls, tmp_path_factory.mktemp("loopback"))
    try:
        loopback.start_scheduler()
        loopback.start_worker("one")
        loopback.start_worker("two")
        loopback.wait_for(2)
        yield loopback
    finally:
        loopback.stop()


@pytest.fixture
def own(course_template: Path, tmp_path: Path) -> Course:
    """A course folder of one's own, of the version that the workers have."""
    shutil.copytree(course_template, tmp_path / "course")
    return Course(tmp_path / "course")
