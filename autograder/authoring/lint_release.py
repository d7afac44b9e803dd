"""Lint rules about what students get: nothing of a solution, no hidden test, no output, no other file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from autograder.authoring import wording
from autograder.authoring.material import Material

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
HIDDEN = re.compile(r"(BEGIN|END) (HIDDEN TESTS|SOLUTION|MARK SCHEME)")
TELLING = 25  # characters: a line this long that returns elsewhere is no chance
ORDINARY = re.compile(r"(class |def |import |from |super\(\)|@|\"\"\"|#)")  # what a stub shows too


def nothing_leaks(m: Material) -> Iterator[str]:
    """Yield what a student could find in labs/ and should not."""
    folder = m.course / "labs" / m.lab.name
    where = f"labs/{m.lab.name}/{m.lab.name}.ipynb"
    if m.released is None:
        yield f"{where} is missing or cannot be read; run `make labs`."
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != f"{m.lab.name}.ipynb" and ".ipynb_checkpoints" not in path.parts:
            yield f"labs/{m.lab.name}/{path.relative_to(folder)} would go to students; delete it, only the notebook goes out."
    source = {cell.id: cell for cell in m.source.cells}
    for cell in m.released.cells:
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"{where}: the cell {cell.id!r} has outputs, which may show an answer; run `make labs`."
        if cell.get("attachments"):
            yield f"{where}: the cell {cell.id!r} has an attachment; remove it from {m.folder}/notebook.py."
        if found := HIDDEN.search(cell.source):
            yield f"{where}: {found[0]!r} stands in the cell {cell.id!r}; mend the marks in {m.folder}/notebook.py."
        if cell.id in source:
            yield from (f"{where}: {sentence}" for sentence in _kept(source[cell.id], cell))
    yield from (f"{where}: {sentence}" for sentence in _elsewhere(m.source, m.released))


def _kept(source: NotebookNode, released: NotebookNode) -> Iterator[str]:
    """Yield a sentence when a cell's own solution still stands in it."""
    solution, frame = parts(source)
    kept = [line for line in solution if line not in frame and len(line) > 3 and line in _lines(released.source)]
    if kept:
        yield f"the cell {released.id!r} still holds a line of its solution, {kept[0]!r}; run `make labs`."


def _elsewhere(source: NotebookNode, released: NotebookNode) -> Iterator[str]:
    """Yield a sentence for each cell that gives a line of another cell's solution away."""
    secrets: dict[str, str] = {}
    for cell in source.cells:
        solution, frame = parts(cell)
        for line in solution:
            if len(line) >= TELLING and line not in frame and not ORDINARY.match(line):
                secrets[line] = cell.id
    for cell in released.cells:
        given = [line for line, owner in secrets.items() if owner != cell.id and line in cell.source]
        if given:
            wrong = f"the cell {cell.id!r} gives away a line of the solution in {secrets[given[0]]!r}, {given[0]!r}"
            yield f"{wrong}; reword one of them."


def parts(cell: NotebookNode) -> tuple[list[str], list[str]]:
    """Return the lines of a cell's solution and those around it; a solution without marks is the whole cell."""
    if not wording.grading(cell).get("solution"):
        return [], _lines(cell.source)
    if BEGIN not in cell.source:
        return _lines(cell.source), []
    solution: list[str] = []
    frame: list[str] = []
    inside = False
    for line in _lines(cell.source):
        if line in (BEGIN, END):
            inside = line == BEGIN
        else:
            (solution if inside else frame).append(line)
    return solution, frame


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
