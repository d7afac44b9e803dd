"""A gradebook in PostgreSQL: a real server, started for this file alone, and a class from a run on several workers.

The server's programs are Debian's package postgresql. It listens on one Unix socket in a folder of its own, keeps nothing, and
runs as an ordinary user, which it insists on, also where the tests are root.
"""

from __future__ import annotations

import csv
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import CourseError
from autograder.plugins.record import Recorder
from tests.conftest import postgresql_programs
from tests.plugins.conftest import LAB, Course
from tests.plugins.recording import by_us, files, results_of, rows
from tests.submissions import odd

pytestmark = pytest.mark.postgresql

SQUARED = "def double(x):\n    return x * x\n"


@dataclass
class PostgresCourse(Course):
    """A course whose gradebook lies in a database of its own."""

    url: str

    @property
    def db_url(self) -> str:
        return self.url


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server; `folder` holds its socket."""

    folder: Path

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://grader@/{database}?host={self.folder}"

    def create(self, database: str) -> str:
        """Make an empty database, as an administrator does, and return its address."""
        import psycopg

        with psycopg.connect(host=str(self.folder), user="grader", dbname="postgres", autocommit=True) as connection:
            connection.execute(f'create database "{database}"'.encode())
        return self.url(database)


def ordinary_user() -> dict[str, Any]:
    """Arguments of `subprocess` that let root start something as somebody else; the server refuses to be root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    import psycopg

    programs = postgresql_programs()
    assert programs is not None
    folder, somebody = Path(tempfile.mkdtemp(prefix="pg-")), ordinary_user()
    if somebody:
        os.chown(folder, somebody["user"], somebody["group"])
    words = [
        programs / "initdb",
        "-D",
        folder / "data",
        "-U",
        "grader",
        "--auth=trust",
        "--no-sync",
        "--locale=C",
        "-E",
        "UTF8",
    ]
    subprocess.run(words, check=True, cwd=folder, capture_output=True, timeout=60, **somebody)
    settings = ("listen_addresses=", "fsync=off", "full_page_writes=off", f"unix_socket_directories={folder}")
    words = [programs / "postgres", "-D", folder / "data", *(word for s in settings for word in ("-c", s))]
    with (
        open(folder / "log", "wb") as log,
        subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, **somebody) as process,
    ):
        try:
            for _ in range(600):
                try:
                    psycopg.connect(host=str(folder), user="grader", dbname="postgres").close()
                    break
                except psycopg.OperationalError:
                    assert process.poll() is None, (folder / "log").read_text()
                    time.sleep(0.05)
            yield Server(folder)
        finally:
            process.send_signal(signal.SIGINT)  # "fast": it does not wait for who is still connected
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
    shutil.rmtree(folder)


def course_in(server: Server, template: Path, root: Path, database: str) -> PostgresCourse:
    """A copy of the course, without the gradebook that was made with it, and an empty database instead."""
    shutil.copytree(template, root)
    (root / "gradebook.db").unlink()
    return PostgresCourse(root, server.create(database))


@pytest.fixture(scope="module")
def cluster_run(
    server: Server, course_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[PostgresCourse, subprocess.CompletedProcess[str]]:
    """A class graded by `autograder grade` on a cluster of two workers on this machine, into an empty database."""
    course = course_in(server, course_template, tmp_path_factory.mktemp("postgresql") / "course", "cluster run")
    course.submit("ann", odd.solved())
    course.submit("bob", odd.solved(double=SQUARED))
    course.submit("cal", odd.real_file("truncated.ipynb"))
    course.submit("dee", odd.release())
    (course.root / "submitted" / "eve" / LAB).mkdir(parents=True)
    words = ["-m", "autograder", "grade", LAB, "--seed=7", "--jobs=2", "--executor=dask"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GRADEBOOK_URL": course.url}
    env.pop("NORMALIZATION_COURSE", None)
    done = subprocess.run(
        [sys.executable, *words], cwd=course.root, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    return course, done


@pytest.mark.sandbox
def test_a_class_from_a_cluster_run_stands_in_the_database(
    cluster_run: tuple[PostgresCourse, subprocess.CompletedProcess[str]],
) -> None:
    course, done = cluster_run
    assert done.returncode == 0, done.stdout + done.stderr
    points = {
        student: sum(score or 0 for score in course.scores(student).values()) for student in ("ann", "bob", "cal")
    }
    assert points == {"ann": 5.0, "bob": 3.0, "cal": 0.0}
    found = rows(course.url)
    assert [row[0] for row in found["student"]] == ["ann", "bob", "cal", "dee", "eve"]
    assert len(found["grade"]) == 3 * 5
    assert not (course.root / "gradebook.db").exists(), "something was written into a gradebook of its own"


@pytest.mark.sandbox
def test_nbgraders_own_commands_read_it(
    cluster_run: tuple[PostgresCourse, subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The export, and the tables that formgrader shows."""
    course, _ = cluster_run
    monkeypatch.setenv("GRADEBOOK_URL", course.url)
    course.run("export")
    with (course.root / "grades.csv").open(newline="") as file:
        assert {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)} == (
            {"ann": 5.0, "bob": 3.0, "cal": 0.0, "dee": 0.0, "eve": 0.0}
        )
    with course.gradebook() as gradebook:
        shown = {row["student"]: row["score"] for row in gradebook.submission_dicts(LAB)}
        assert shown == {"ann": 5.0, "bob": 3.0, "cal": 0.0, "dee": 0.0, "eve": 0.0}
        assert len(gradebook.notebook_submission_dicts(LAB, LAB)) == len(gradebook.student_dicts()) == 5


def test_it_holds_what_a_file_would_hold(
    server: Server, course_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same class in SQLite and in PostgreSQL, in batches, then again after a person has graded."""
    here = Course(tmp_path / "here")
    shutil.copytree(course_template, here.root)
    (here.root / "gradebook.db").unlink()
    there = course_in(server, course_template, tmp_path / "there", "same")
    for course, url in ((here, ""), (there, there.url)):
        monkeypatch.setenv("GRADEBOOK_URL", url)
        Recorder(course.root, LAB).prepare()
        for student in results_of(course):
            course.submit(student, odd.solved())
        for second in (False, True):
            by_us(course, results_of(course, second=second), 5)
            with course.gradebook() as gradebook:
                grade = gradebook.find_grade("why", LAB, LAB, "again")
                grade.manual_score, grade.needs_manual_grade = 3.5, False
                gradebook.db.commit()
    assert files(there) == files(here)
    assert rows(there.url) == rows(here.db_url)
    monkeypatch.setenv("GRADEBOOK_URL", there.url)
    assert Recorder(there.root, LAB).scores()["again"] == (2 + 3.5, 9.0, False)


def test_a_database_that_nobody_made_is_named(
    server: Server, course_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose database it is to be is the administrator's business."""
    shutil.copytree(course_template, tmp_path / "course")
    monkeypatch.setenv("GRADEBOOK_URL", server.url("nobodys"))
    with pytest.raises(CourseError, match=r'"nobodys" does not exist\s.*createdb'):
        Recorder(tmp_path / "course", LAB).prepare()
