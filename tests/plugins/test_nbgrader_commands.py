"""Every command of nbgrader works from the course's folder, each run as the program it is.

One class goes the whole way, once: generated, released, fetched, handed in, collected, graded, given feedback,
exported, looked at. The tests then look at what each step left behind.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.plugins.conftest import LAB, Course
from tests.submissions import odd

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

SQUARED = "def double(x):\n    return x * x\n"
PAGE = Path("feedback") / "bob" / LAB / f"{LAB}.html"


@dataclass
class Journey:
    """The course after the class went through it, and what each command said."""

    course: Course
    said: dict[str, str]
    home: Path


@pytest.fixture(scope="module")
def journey(shared_course: Course, tmp_path_factory: pytest.TempPathFactory) -> Journey:
    course, home = shared_course, tmp_path_factory.mktemp("students")
    shutil.rmtree(course.root / "labs")
    (course.root / "gradebook.db").unlink()
    said = {}
    said["generate_assignment"] = course.cli("generate_assignment", LAB)
    said["release_assignment"] = course.cli("release_assignment", LAB)
    alone = {"JUPYTER_DATA_DIR": str(home / "data"), "JUPYTER_CONFIG_DIR": str(home / "config")}
    words = ("--course=normalization", f"--Exchange.root={course.root / 'exchange'}", "--student=bob")
    said["fetch_assignment"] = Course(home).cli("fetch_assignment", LAB, *words, env=alone)
    (home / LAB / f"{LAB}.ipynb").write_bytes(odd.as_bytes(odd.solved(double=SQUARED)))
    (home / LAB / "notes.txt").write_text("mine")
    said["submit"] = Course(home).cli("submit", LAB, *words, env=alone)
    bobs = next((course.root / "exchange" / "normalization" / "inbound").iterdir())
    anns = shutil.copytree(bobs, bobs.with_name(bobs.name.replace("bob+", "ann+")))
    (anns / f"{LAB}.ipynb").write_bytes(odd.as_bytes(odd.solved()))
    (anns / "submission_secret.txt").write_text("ann's")
    said["collect"] = course.cli("collect", LAB)
    archive = course.root / "downloaded" / LAB / "archive"
    archive.mkdir(parents=True)
    with ZipFile(archive / "submissions.zip", "w") as platform:
        platform.writestr(f"cal_4711_998_{LAB}-2.ipynb", odd.as_bytes(odd.release()))
        platform.writestr(f"dee_4712_999_{LAB}.ipynb", odd.real_file("colab.ipynb"))
    said["zip_collect"] = course.cli("zip_collect", LAB)
    said["autograde one"] = course.cli("autograde", LAB, "--student=bob")
    said["autograde"] = course.cli("autograde", LAB)
    said["generate_feedback"] = course.cli("generate_feedback", LAB)
    said["release_feedback"] = course.cli("release_feedback", LAB)
    said["export"] = course.cli("export")
    return Journey(course, said, home)


def test_generate_assignment_makes_the_release_with_our_stubs(journey: Journey) -> None:
    text = (journey.course.root / "labs" / LAB / f"{LAB}.ipynb").read_text()
    assert "NotImplementedError" in text
    assert "return 2 * x" not in text


def test_release_and_fetch_go_through_the_exchange(journey: Journey) -> None:
    outbound = journey.course.root / "exchange" / "normalization" / "outbound" / LAB
    assert [path.name for path in outbound.iterdir()] == [f"{LAB}.ipynb"]
    assert "Fetched as" in journey.said["fetch_assignment"]


def test_collect_takes_what_students_handed_in(journey: Journey) -> None:
    folder = journey.course.root / "submitted" / "bob" / LAB
    assert sorted(path.name for path in folder.iterdir()) == (
        [f"{LAB}.ipynb", "notes.txt", "submission_secret.txt", "timestamp.txt"]
    )
    assert json.loads((folder / f"{LAB}.ipynb").read_bytes()) == odd.solved(double=SQUARED)


def test_zip_collect_reads_a_learning_platforms_archive(journey: Journey) -> None:
    for student in ("cal", "dee"):
        assert (journey.course.root / "submitted" / student / LAB / f"{LAB}.ipynb").is_file()


def test_autograde_grades_one_student_and_then_all(journey: Journey) -> None:
    assert "'bob'" in journey.said["autograde one"]
    assert "'ann'" not in journey.said["autograde one"]
    found = {student: journey.course.scores(student) for student in ("ann", "bob", "cal", "dee")}
    assert {name: (found[name]["double"], found[name]["triple"]) for name in found} == {
        "ann": (2, 3),
        "bob": (0, 3),
        "cal": (0, 0),
        "dee": (2, 3),
    }


def test_one_run_grades_everyone_with_the_same_scenarios(journey: Journey) -> None:
    seeds = {journey.course.report(student)["seed"] for student in ("ann", "cal", "dee")}
    assert len(seeds) == 1


def test_an_answer_in_words_waits_for_a_person_and_none_is_zero(journey: Journey) -> None:
    with journey.course.gradebook() as gradebook:
        needs = {
            student: gradebook.find_grade("why", LAB, LAB, student).needs_manual_grade for student in ("ann", "cal")
        }
    assert needs == {"ann": True, "cal": False}


def test_generate_feedback_says_what_is_wrong_and_where_to_read(journey: Journey) -> None:
    page = (journey.course.root / PAGE).read_text()
    assert "3 of 9 points" in page
    assert "The value is multiplied by itself, not by two" in page
    assert 'href="../../../_build/html/book/mathematical-formulation.html#the-set"' in page
    assert "The smallest call that shows it" in page


def test_release_feedback_puts_the_pages_into_the_exchange_of_those_who_used_it(journey: Journey) -> None:
    """Stock nbgrader ends with a traceback at the first submission that came another way."""
    pages = list((journey.course.root / "exchange" / "normalization" / "feedback").rglob("*.html"))
    assert len(pages) == 2
    assert "Not released, because it was not handed in through the exchange" in journey.said["release_feedback"]


def test_export_writes_one_row_for_everyone(journey: Journey) -> None:
    with (journey.course.root / "grades.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {student: row["score"] for student, row in rows.items()} == {
        "ann": "5.0",
        "bob": "3.0",
        "cal": "0.0",
        "dee": "5.0",
    }


def test_a_persons_grades_and_comments_outlive_another_grading(journey: Journey) -> None:
    course = journey.course
    with course.gradebook() as gradebook:
        grade = gradebook.find_grade("why", LAB, LAB, "ann")
        grade.manual_score, grade.needs_manual_grade = 3.5, False
        gradebook.find_comment("why", LAB, LAB, "ann").manual_comment = "Good, but why *linear*?"
        gradebook.db.commit()
    course.autograde("--student=ann", "--force")
    course.run("generate_feedback", LAB, "--student=ann", "--force")
    page = (course.root / "feedback" / "ann" / LAB / f"{LAB}.html").read_text()
    assert "8.5 of 9 points" in page
    assert "but why <em>linear</em>?" in page


def test_validate_runs_a_notebook_in_the_sandboxed_kernel(journey: Journey, tmp_path: Path) -> None:
    """In the first notebook `check` is not defined; in the second it passes only where the course cannot be seen."""
    shutil.copy(journey.course.root / "nbgrader_config.py", tmp_path)
    shutil.copy(journey.course.root / "labs" / LAB / f"{LAB}.ipynb", tmp_path / "untouched.ipynb")
    mine = odd.solved()
    blind = f"import os\ndef check(name):\n    assert not os.path.exists({str(journey.course.root)!r})\n"
    mine["cells"].insert(0, odd.code("mine", blind))
    (tmp_path / "mine.ipynb").write_bytes(odd.as_bytes(mine))
    assert "VALIDATION FAILED ON 3 CELL(S)" in Course(tmp_path).cli("validate", "untouched.ipynb")
    assert "Success! Your notebook passes all the tests." in Course(tmp_path).cli("validate", "mine.ipynb")


@dataclass
class Server:
    """A Jupyter server with formgrader, in the course's folder."""

    port: int

    def get(self, path: str, method: str = "GET", timeout_s: float = 60) -> str:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method, headers={"Authorization": "token sesame"}
        )
        with urllib.request.urlopen(request, timeout=timeout_s) as reply:
            text: str = reply.read().decode()
            return text


@pytest.fixture(scope="module")
def server(journey: Journey) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        "-m", "jupyter_server", f"--port={port}", "--ip=127.0.0.1", "--no-browser", "--allow-root",
        "--IdentityProvider.token=sesame", "--ServerApp.port_retries=0",
        "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}",
    ]  # fmt: skip
    env = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(journey.home / "config"),
        "JUPYTER_DATA_DIR": str(journey.home / "data"),
        "JUPYTER_RUNTIME_DIR": str(journey.home / "runtime"),
        "OMP_NUM_THREADS": "1",
    }
    log = journey.home / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=journey.course.root, env=env, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            served = Server(port)
            for _ in range(150):
                try:
                    served.get("/api/status", timeout_s=5)
                    break
                except (urllib.error.URLError, OSError):
                    assert process.poll() is None, log.read_text()
                    time.sleep(0.2)
            else:
                raise AssertionError(f"no server after 30 s:\n{log.read_text()}")
            yield served
        finally:
            process.terminate()
            process.wait(timeout=20)


def test_formgrader_shows_the_assignments_and_the_students(server: Server) -> None:
    assert "formgrader" in server.get("/formgrader/manage_assignments").lower()
    assignments = json.loads(server.get("/formgrader/api/assignments"))
    assert [(entry["name"], entry["status"]) for entry in assignments] == [(LAB, "released")]
    assert assignments[0]["num_submissions"] == 4
    for page in (
        f"manage_submissions/{LAB}",
        "gradebook",
        f"gradebook/{LAB}",
        f"gradebook/{LAB}/{LAB}",
        "manage_students",
    ):
        assert "</body>" in server.get(f"/formgrader/{page}")


def test_formgrader_shows_every_submission(server: Server) -> None:
    submissions = json.loads(server.get(f"/formgrader/api/submitted_notebooks/{LAB}/{LAB}"))
    assert len(submissions) == 4
    for submission in submissions:
        page = server.get(f"/formgrader/submissions/{submission['id']}/")
        assert "double" in page
    bob = next(entry for entry in submissions if entry["student"] == "bob")
    page = server.get(f"/formgrader/submissions/{bob['id']}/")
    assert "The value is multiplied by itself" in page
    assert bob["failed_tests"]


def test_formgrader_shows_a_students_scripts_as_text(journey: Journey, server: Server) -> None:
    """The instructor's browser, logged in, is what a student would most like to run a script in."""
    script = "<script>alert('student')</script>"
    why = (
        f"{script} <b id=double class=score>x</b> [a](javascript:alert(1)) ![p](http://example.org/p.png)\n\n"
        "![gone](attachment:gone.png)\n\n# double\n\n$\\href{javascript:alert(1)}{x}$"
    )
    notebook = odd.solved(double=f"print({script!r})\n" + odd.DOUBLE, why=why)
    journey.course.submit("eve", odd.put_behind(notebook, "triple", odd.text("t", script)))
    journey.course.autograde("--student=eve")
    submissions = json.loads(server.get(f"/formgrader/api/submitted_notebooks/{LAB}/{LAB}"))
    eve = next(entry["id"] for entry in submissions if entry["student"] == "eve")
    page = server.get(f"/formgrader/submissions/{eve}/")
    assert script not in page
    assert "alert('student')" in page or "alert(&#39;student&#39;)" in page
    assert not re.search(r"<a[^>]*javascript:", page)
    assert "example.org" not in page
    assert len(re.findall(r'id="double"', page)) == 1  # formgrader's own


def test_formgrader_grades_a_submission_when_asked(journey: Journey, server: Server) -> None:
    """Its button runs autograde inside the server, where an event loop is running already."""
    journey.course.submit("fay", odd.solved(double=SQUARED))
    said = json.loads(server.get(f"/formgrader/api/submission/{LAB}/fay/autograde", method="POST", timeout_s=120))
    assert said["success"], said
    assert journey.course.scores("fay")["triple"] == 3.0
