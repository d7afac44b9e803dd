"""nbgrader's gradebook as the one writer of a class run uses it: opened once, read and written a batch at a time.

nbgrader opens a gradebook anew for every step of every submission, and asks and commits for every cell. `OpenGradebook`
is the same gradebook with the same answers: what a batch of students needs is read with a few queries, found in memory, and
committed in one piece. It is for one process and one thread; who only reads (formgrader, exports) opens nbgrader's own.

Nothing here is particular to a database: the address decides, SQLite or PostgreSQL or what else SQLAlchemy knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    MissingEntry,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.utils import parse_utc
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session, selectinload, sessionmaker
from sqlalchemy.orm.attributes import set_committed_value

from autograder.plugins.database import make_tables, opening, patient_url
from autograder.plugins.known_cells import KnownCells
from autograder.plugins.rows import COMMENTS, GRADES, Row, Rows


class _Patient(Session):
    """A session whose commits wait for the end of the batch, and take the batch's rows with them."""

    waits = False
    rows: Rows | None = None

    def commit(self) -> None:
        """Commit, unless a batch is being put together."""
        if not self.waits:
            if self.rows is not None:
                self.rows.write(self)
            super().commit()


class OpenGradebook(KnownCells):
    """A gradebook that stays open; within `batch`, what nbgrader looks up one by one is in memory."""

    def __init__(self, db_url: str, course_id: str) -> None:
        """Open the gradebook; an empty database gets its tables.

        Raises:
            CourseError: it cannot be opened.
        """
        self.address = patient_url(db_url)
        self._forget()
        with opening(self.address):
            make_tables(self.address)
            super().__init__(self.address, course_id)
        self.db = scoped_session(sessionmaker(bind=self.engine, class_=_Patient, expire_on_commit=False))

    def _forget(self) -> None:
        self._assignment: Any = None
        self._asked: frozenset[str] = frozenset()
        self._students: dict[str, Any] = {}
        self._submissions: dict[str, Any] = {}
        self._notebooks: dict[tuple[str, str], Any] = {}
        self._rows = Rows()

    @contextmanager
    def batch(self, lab: str, students: Sequence[str], *, waits: bool = True) -> Iterator[None]:
        """Hold what some students' submissions of a lab need; what was changed is committed at the end.

        Args:
            lab: the assignment.
            students: who; they need not be in the gradebook yet.
            waits: whether a commit within waits for the end. Not where somebody else looks into the database meanwhile.

        Raises:
            MissingEntry: the gradebook has no such assignment.
        """
        try:
            with self.waiting(waits=waits):
                self._load(lab, students)
                self.db().rows = self._rows
                yield
        finally:
            self._forget()

    @contextmanager
    def waiting(self, *, waits: bool = True) -> Iterator[None]:
        """Commit what is changed at the end, in one piece; nothing of it where something is raised."""
        self.db.remove()
        try:
            session = self.db()
            session.waits = waits
            yield
            session.waits = False
            session.commit()
        finally:
            self.db.remove()  # the next one begins with an empty memory, so that a long run does not fill it

    def _load(self, lab: str, students: Sequence[str]) -> None:
        cells = selectinload(Assignment.notebooks).selectinload(Notebook._base_cells)
        self._assignment = self.db.scalars(select(Assignment).where(Assignment.name == lab).options(cells)).first()
        if self._assignment is None:
            raise MissingEntry(f"No such assignment: {lab}")
        self._asked = frozenset(students)
        known = self.db.scalars(select(Student).where(Student.id.in_(students)))
        self._students = {student.id: student for student in known}
        found = self.db.scalars(
            select(SubmittedAssignment)
            .where(
                SubmittedAssignment.assignment_id == self._assignment.id, SubmittedAssignment.student_id.in_(students)
            )
            .options(selectinload(SubmittedAssignment.notebooks))
        )
        for submission in found:
            self._index(submission, submission.student_id)
        self._read_rows()

    def _index(self, submission: Any, student: str) -> None:
        names = {notebook.id: notebook.name for notebook in self._assignment.notebooks}
        self._submissions[student] = submission
        for notebook in submission.notebooks:
            self._notebooks[student, names[notebook.notebook_id]] = notebook

    def _read_rows(self) -> None:
        cells = {cell.id: cell.name for notebook in self._assignment.notebooks for cell in notebook._base_cells}
        self._rows.read(self.db(), {notebook.id: whose for whose, notebook in self._notebooks.items()}, cells)

    def settle(self) -> None:
        """Commit what the batch has changed so far, and read the scores that the database makes of it."""
        session = self.db()
        waits, session.waits = session.waits, False
        session.commit()
        session.waits = waits
        self._read_rows()
        notebooks = {notebook.id: notebook for notebook in self._notebooks.values()}
        own = SubmittedNotebook
        for key, *scores in session.execute(select(own.id, own.score, own.max_score).where(own.id.in_(notebooks))):
            for name, score in zip(("score", "max_score"), scores, strict=True):
                set_committed_value(notebooks[key], name, score)

    def _holds(self, assignment: str, student: str = "") -> bool:
        ours = self._assignment is not None and bool(self._assignment.name == assignment)
        return ours and (not student or student in self._asked)

    # What nbgrader's steps ask for. Who or what is not of the batch is looked up as nbgrader does it.

    def find_student(self, student_id: str) -> Student:
        """Return a student."""
        if student_id in self._asked and student_id not in self._students:
            raise MissingEntry(f"No such student: {student_id}")
        return self._students.get(student_id) or super().find_student(student_id)

    def add_student(self, student_id: str, **kwargs: Any) -> Student:
        """Return a new student."""
        student = super().add_student(student_id, **kwargs)
        if student_id in self._asked:
            self._students[student_id] = student
        return student

    def find_assignment(self, name: str) -> Assignment:
        """Return a lab as nbgrader knows it."""
        return self._assignment if self._holds(name) else super().find_assignment(name)

    def find_submission(self, assignment: str, student: str) -> SubmittedAssignment:
        """Return what a student handed in."""
        if self._holds(assignment, student) and student not in self._submissions:
            raise MissingEntry(f"No such submission: {assignment} for {student}")
        return (
            self._submissions[student]
            if self._holds(assignment, student)
            else super().find_submission(assignment, student)
        )

    def add_submission(self, assignment: str, student: str, **kwargs: Any) -> SubmittedAssignment:
        """Return a new submission with its empty grades and comments."""
        if not self._holds(assignment, student):
            return super().add_submission(assignment, student, **kwargs)
        if "timestamp" in kwargs:
            kwargs["timestamp"] = parse_utc(kwargs["timestamp"])
        submission = SubmittedAssignment(assignment=self._assignment, student=self.find_student(student), **kwargs)
        for notebook in self._assignment.notebooks:
            own = SubmittedNotebook(id=new_uuid(), notebook_id=notebook.id, notebook=notebook, assignment=submission)
            self._rows.add(student, notebook, own.id)
        self.db.add(submission)
        self._index(submission, student)
        self.db.commit()
        return submission

    def find_submission_notebook(self, notebook: str, assignment: str, student: str) -> SubmittedNotebook:
        """Return one notebook that a student handed in."""
        found = self._notebooks.get((student, notebook)) if self._holds(assignment) else None
        return found or super().find_submission_notebook(notebook, assignment, student)

    def find_grade(self, grade_cell: str, notebook: str, assignment: str, student: str) -> Grade:
        """Return the grade of one cell."""
        found = self._rows.get(GRADES, student, notebook, grade_cell) if self._holds(assignment) else None
        return found or super().find_grade(grade_cell, notebook, assignment, student)

    def find_comment(self, solution_cell: str, notebook: str, assignment: str, student: str) -> Comment:
        """Return the comment on one cell."""
        found = self._rows.get(COMMENTS, student, notebook, solution_cell) if self._holds(assignment) else None
        return found or super().find_comment(solution_cell, notebook, assignment, student)

    def grades_of(self, student: str, notebook: str) -> list[Row]:
        """Return the grades of a notebook of the batch."""
        return self._rows.of(GRADES, student, notebook)

    def add_up(self, notebook: SubmittedNotebook) -> None:
        """Write what waits, so that the database can add up a notebook's score, and read that."""
        self._rows.write(self.db())
        self.db.refresh(notebook, ["score"])
