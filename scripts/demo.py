"""`make demo`: the main job from end to end, in a course of its own under _build/demo/, and every grade asserted.

Labs made, lab 1 released through an exchange, seventeen submissions handed in and collected, graded in the sandbox,
feedback written, grades exported; the book is built meanwhile. Ends with where everything lies; exits with 1 when a grade
is not what it must be.
"""

from __future__ import annotations

import atexit
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.errors import SandboxUnavailable  # noqa: E402
from autograder.grading.report import Report  # noqa: E402
from scripts.demo_class import LAB, Member, members  # noqa: E402

DEMO = ROOT / "_build" / "demo"
BIN = Path(sys.executable).parent
SEED = 2015


@dataclass(frozen=True)
class Running:
    """A step that was begun, and the file that holds what it says, unless that is shown."""

    title: str
    process: subprocess.Popen[str]
    output: IO[str] | None


def main() -> int:
    """Run the demo and return its exit code."""
    began_s = time.monotonic()
    step("Make the labs", BIN / "autograder", "labs", "make", where=ROOT)
    book = begin("Build the book, meanwhile", ROOT / "scripts" / "build-book.sh", where=ROOT)
    course()
    step("Put the lab into the gradebook", nbgrader("generate_assignment", LAB.name, "--force"))
    step("Release it through the exchange", nbgrader("release_assignment", LAB.name, "--force"))
    handed_in = members(ROOT)
    submit(handed_in)
    step(f"Collect {len(handed_in)} submissions", nbgrader("collect", LAB.name))
    grade = ("grade", LAB.name, f"--seed={SEED}", "--cell=20")
    step("Grade them in the sandbox", BIN / "autograder", *grade, show=True)
    step("Export the grades", nbgrader("export"))
    print("- Wait for the book", flush=True)
    finish(book)
    wrong = [line for member in handed_in for line in compare(member)] + compare_csv(handed_in)
    print()
    for line in wrong:
        print(f"NOT AS IT MUST BE: {line}")
    if not wrong:
        print(f"All {len(handed_in)} grades are what they must be. It took {time.monotonic() - began_s:.0f} s.")
    print(f"  website   {(ROOT / '_build/html/index.html').as_uri()}   (make serve)")
    print(f"  feedback  {(DEMO / 'feedback' / 'dana' / LAB.name / f'{LAB.name}.html').as_uri()}")
    print(f"  report    {DEMO / 'reports' / LAB.name / 'dana.json'}")
    print(f"  grades    {DEMO / 'grades.csv'}")
    return 1 if wrong else 0


def nbgrader(*words: str) -> tuple[Path | str, ...]:
    """Return the command line of an nbgrader command."""
    return (BIN / "nbgrader", *words)


def step(title: str, *command: Path | str | tuple[Path | str, ...], where: Path = DEMO, show: bool = False) -> None:
    """Run one command; its output is shown when it is worth seeing or when it fails."""
    finish(begin(title, *command, where=where, show=show))


def begin(title: str, *command: Path | str | tuple[Path | str, ...], where: Path = DEMO, show: bool = False) -> Running:
    """Say what is done and start it."""
    words = [str(word) for part in command for word in (part if isinstance(part, tuple) else (part,))]
    print(f"- {title}: {' '.join([Path(words[0]).name, *words[1:]])}", flush=True)
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    environment = {**os.environ, "PATH": path, "NBGRADER_EXCHANGE": str(DEMO / "exchange"), "PYTHONWARNINGS": "ignore"}
    for name in ("NORMALIZATION_COURSE", "GRADEBOOK_URL"):  # the made-up class has no business in yours
        environment.pop(name, None)
    output = None if show else tempfile.TemporaryFile("w+")  # noqa: SIM115 - `finish` reads it; nobody has to read along
    process = subprocess.Popen(words, cwd=where, env=environment, text=True, stdout=output, stderr=subprocess.STDOUT)
    atexit.register(process.terminate)  # nothing goes on when the demo has stopped
    return Running(title, process, output)


def finish(running: Running) -> None:
    """Wait for what was begun; stop the demo when it failed."""
    code = running.process.wait()
    if code == 0:
        return
    if running.output is not None:
        running.output.seek(0)
        print(running.output.read())
    sys.exit(f"{running.title} failed with exit code {code}. `make demo` stops here.")


def course() -> None:
    """Make a course of its own for the demo, so that nobody's gradebook is touched."""
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir(parents=True)
    (DEMO / "exchange").mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", DEMO)
    for folder in ("solutions", "labs"):
        shutil.copytree(ROOT / folder, DEMO / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "_build" / "source", DEMO / "_build" / "source")


def submit(handed_in: tuple[Member, ...]) -> None:
    """Put the notebooks where `nbgrader submit` puts a student's: the course's inbound folder of the exchange."""
    inbound = DEMO / "exchange" / "normalization" / "inbound"
    for member in handed_in:
        folder = inbound / f"{member.student}+{LAB.name}+2026-01-31 12:00:00 UTC+{member.student}"
        folder.mkdir(parents=True)
        (folder / f"{LAB.name}.ipynb").write_bytes(member.content)
        (folder / "timestamp.txt").write_text("2026-01-31 12:00:00 UTC")


def compare(member: Member) -> list[str]:
    """Return what is wrong with the grade of one member of the class."""
    report = Report.from_json(json.loads((DEMO / "reports" / LAB.name / f"{member.student}.json").read_text()))
    lost = {check.name for check in report.checks if not check.passed}
    page = DEMO / "feedback" / member.student / LAB.name / f"{LAB.name}.html"
    found = []
    if lost != member.loses:
        found.append(
            f"{member.student} ({member.story}) loses {sorted(lost - member.loses)} as well, keeps {sorted(member.loses - lost)}"
        )
    if not page.is_file():
        found.append(f"{member.student} has no feedback page")
    return found


def compare_csv(handed_in: tuple[Member, ...]) -> list[str]:
    """Return what is wrong with the exported grades: the machine's points, since nobody has graded the written answers."""
    points = {check.name: check.points for check in LAB.checks}
    with (DEMO / "grades.csv").open(newline="", encoding="utf-8") as file:
        exported = {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(file)}
    wanted = {m.student: sum(p for name, p in points.items() if name not in m.loses) for m in handed_in}
    return [
        f"{student} has {exported.get(student)} points in grades.csv; {points:g} are due"
        for student, points in wanted.items()
        if exported.get(student) != points
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SandboxUnavailable as error:
        sys.exit(str(error))
