"""Grades and comments of a batch as plain rows, read and written many at a time.

A submission of lab 1 has some forty of them, and SQLAlchemy's objects, which look out for every change and every relation, took
more time than all else in the gradebook. A row has the fields of nbgrader's `Grade` or `Comment` that nbgrader's steps read, as
they stood in the database when it was read, and those that they set. Of these, what has changed is written, and nothing else,
since somebody may grade by hand meanwhile. Tables, keys and sums are nbgrader's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from nbgrader.api import Comment, Grade, new_uuid
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import Session

Row = SimpleNamespace
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Kind:
    """A table: what a step may set, with the values at first, and what it may read besides."""

    table: Any
    sets: tuple[tuple[str, Any], ...]
    reads: tuple[str, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that may be set."""
        return tuple(name for name, _ in self.sets)


GRADES = Kind(
    Grade,
    (("auto_score", None), ("needs_manual_grade", True)),
    ("manual_score", "extra_credit", "score", "max_score"),
)
COMMENTS = Kind(Comment, (("auto_comment", None),), ("manual_comment", "comment"))
KEYS = ("id", "notebook_id", "cell_id")


class Rows:
    """The rows of a batch, by student, notebook and cell."""

    def __init__(self) -> None:
        self._held: dict[Kind, dict[Key, Row]] = {GRADES: {}, COMMENTS: {}}

    def read(self, session: Session, owners: Mapping[str, tuple[str, str]], cells: Mapping[str, str]) -> None:
        """Take what the database holds; `owners` and `cells` name the keys of submitted notebooks and of a lab's cells."""
        for kind, held in self._held.items():
            for row in read(session, kind, list(owners)):
                held[*owners[row.notebook_id], cells.get(row.cell_id, "")] = row

    def write(self, session: Session) -> None:
        """Write what is new or has changed."""
        session.flush()  # rows belong to notebooks, which may be new themselves
        for kind, held in self._held.items():
            write(session, kind, held.values())

    def add(self, student: str, notebook: Any, key: str) -> None:
        """Add what nbgrader's `add_submission` adds for a notebook of a lab; `key` is that of the submitted one."""
        graded, filled = notebook.grade_cells, notebook.solution_cells
        for kind, cells in ((GRADES, graded), (COMMENTS, filled)):
            for cell in (*cells, *notebook.task_cells):
                self._held[kind][student, notebook.name, cell.name] = fresh(kind, key, cell.id)

    def get(self, kind: Kind, student: str, notebook: str, cell: str) -> Row | None:
        """Return a row, if the batch has it."""
        return self._held[kind].get((student, notebook, cell))

    def of(self, kind: Kind, student: str, notebook: str) -> list[Row]:
        """Return the rows of a notebook."""
        return [row for whose, row in self._held[kind].items() if whose[:2] == (student, notebook)]


def fresh(kind: Kind, notebook_id: str, cell_id: str) -> Row:
    """Return a row that stands nowhere yet."""
    given = {**dict(kind.sets), **dict.fromkeys(kind.reads)}
    return Row(id=new_uuid(), notebook_id=notebook_id, cell_id=cell_id, stored=None, **given)


def read(session: Session, kind: Kind, notebooks: Sequence[str]) -> list[Row]:
    """Return what the database holds for some submitted notebooks, by their keys."""
    names = (*KEYS, *kind.names, *kind.reads)
    asked = select(*(getattr(kind.table, name) for name in names)).where(kind.table.notebook_id.in_(notebooks))
    rows = [Row(**dict(zip(names, found, strict=True))) for found in session.execute(asked)]
    for row in rows:
        row.stored = _now(kind, row)
    return rows


def write(session: Session, kind: Kind, rows: Iterable[Row]) -> None:
    """Write what is new, and of what was there before the columns that have changed."""
    table = kind.table.__table__
    made: list[dict[str, Any]] = []
    changed: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        now = _now(kind, row)
        if row.stored is None:
            made.append({name: getattr(row, name) for name in (*KEYS, *kind.names)})
        elif now != row.stored:
            names = tuple(n for n, new, old in zip(kind.names, now, row.stored, strict=True) if new != old)
            changed.setdefault(names, []).append({"row": row.id, **{f"new_{n}": getattr(row, n) for n in names}})
        row.stored = now
    if made:
        session.execute(insert(table), made)
    for names, values in changed.items():
        of_row = update(table).where(table.c.id == bindparam("row"))
        session.execute(of_row.values({name: bindparam(f"new_{name}") for name in names}), values)


def _now(kind: Kind, row: Row) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in kind.names)
