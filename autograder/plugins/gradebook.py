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
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session, selectinload, sessionmaker, undefer

from autograder.plugins.database import make_tables, opening, patient_url


class _Patient(Session):
    """A session whose commits wait for the end of the batch."""

    waits = False

    def commit(self) -> None:
        """Commit, unless a batch is being put together."""
        if not self.waits:
            super().commit()


class OpenGradebook(Gradebook):  # type: ignore[misc]
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
        self._grades: dict[tuple[str, str, str], Any] = {}
        self._comments: dict[tuple[str, str, str], Any] = {}

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
        notebooks = selectinload(SubmittedAssignment.notebooks)
        found = self.db.scalars(
            select(SubmittedAssignment)
            .where(
                SubmittedAssignment.assignment_id == self._assignment.id, SubmittedAssignment.student_id.in_(students)
            )
            .options(
                notebooks.undefer(SubmittedNotebook.score),
                notebooks.undefer(SubmittedNotebook.max_score),
                notebooks.selectinload(SubmittedNotebook.grades).options(undefer(Grade.max_score)),
                notebooks.selectinload(SubmittedNotebook.comments),
            )
        )
        for submission in found:
            self._index(submission, submission.student_id)

    def _index(self, submission: Any, student: str) -> None:
        names = {notebook.id: notebook.name for notebook in self._assignment.notebooks}
        cells: dict[str, BaseCell] = {c.id: c.name for n in self._assignment.notebooks for c in n._base_cells}
        self._submissions[student] = submission
        for notebook in submission.notebooks:
            name = notebook.notebook.name if notebook.notebook_id is None else names[notebook.notebook_id]
            self._notebooks[student, name] = notebook
            self._grades |= {(student, name, cells.get(grade.cell_id, "")): grade for grade in notebook.grades}
            self._comments |= {(student, name, cells.get(c.cell_id, "")): c for c in notebook.comments}

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
        submission = super().add_submission(assignment, student, **kwargs)
        if self._holds(assignment, student):
            self._index(submission, student)
        return submission

    def find_submission_notebook(self, notebook: str, assignment: str, student: str) -> SubmittedNotebook:
        """Return one notebook that a student handed in."""
        found = self._notebooks.get((student, notebook)) if self._holds(assignment) else None
        return found or super().find_submission_notebook(notebook, assignment, student)

    def find_grade(self, grade_cell: str, notebook: str, assignment: str, student: str) -> Grade:
        """Return the grade of one cell."""
        found = self._grades.get((student, notebook, grade_cell)) if self._holds(assignment) else None
        return found or super().find_grade(grade_cell, notebook, assignment, student)

    def find_comment(self, solution_cell: str, notebook: str, assignment: str, student: str) -> Comment:
        """Return the comment on one cell."""
        found = self._comments.get((student, notebook, solution_cell)) if self._holds(assignment) else None
        return found or super().find_comment(solution_cell, notebook, assignment, student)

    def add_up(self, notebook: SubmittedNotebook) -> None:
        """Write what waits, so that the database can add up a notebook's score, and read that."""
        self.db.flush()
        self.db.refresh(notebook, ["score"])
