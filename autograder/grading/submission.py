"""Graft a submission onto our release notebook: the notebook that runs is ours, with the student's code put in.

A submitted notebook can be tampered with in more ways than anyone can list: test cells edited, deleted, copied,
retagged, unlocked, worth other points. So it is never repaired. Its cells are sorted into two heaps, answers to
our solution cells and the student's own extra cells, and put into a fresh copy of the release. What is in
neither heap does not exist.

The order in which the student's code runs from top to bottom is kept: an answer stands in its slot, an extra
cell behind the cell it followed, a second copy of an answer (an extra cell) where the student put it. A slot
without an answer is empty rather than our stub, because the answer may stand in an extra cell above it.

This module runs nothing and grades nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autograder.grading.matching import Slot, owners, same, slot_of, steady
from autograder.grading.reading import UnreadableSubmission, node, read_file, read_notebook

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["Cell", "Grafted", "UnreadableSubmission", "graft", "harmless", "read_file", "read_notebook"]

EMPTY_SLOT = "# The submission has no cell for this exercise.\n"
Origin = Literal["release", "solution", "extra"]
Kind = Literal["student", "check", "text"]


@dataclass(frozen=True)
class Cell:
    """One cell of the grafted notebook, in the order in which it runs.

    `kind` is "student" for code that the kernel runs (ours to set up, or the student's), "check" for a cell that
    is worth points and whose text is never run, "text" for the rest. `index` is its place in the notebook.
    """

    kind: Kind
    grade_id: str | None
    source: str
    origin: Origin
    index: int


@dataclass(frozen=True)
class Grafted:
    """The notebook that runs, what a person should know about how it was made, and its cells as data."""

    notebook: NotebookNode
    notes: tuple[str, ...]
    cells: tuple[Cell, ...] = ()


def graft(release: NotebookNode, submitted: NotebookNode) -> Grafted:
    """Put the student's code into a fresh copy of the release notebook.

    Args:
        release: our notebook, as given to students; trusted.
        submitted: what `read_notebook` made of the student's file.
    """
    slots = [slot_of(cell) for cell in release.cells]
    meant = list(owners(slots, submitted.cells))
    first: dict[int, int] = {}  # slot -> the first submitted cell that is meant for it
    for position, owner in enumerate(meant):
        if owner is not None:
            first.setdefault(owner, position)
    unmoved = steady(slots, [owner for owner in meant if owner is not None])

    behind: dict[int, list[NotebookNode]] = {}  # slot -> extra cells that stand behind it; -1 is the top
    copies: set[str] = set()
    anchor = -1
    for position, (cell, owner) in enumerate(zip(submitted.cells, meant, strict=True)):
        if owner is None:
            behind.setdefault(anchor, []).append(cell)
            continue
        slot = slots[owner]
        if first[owner] != position:
            if slot.role in ("solution", "check"):
                copies.add(slot.name)
            # A copied test cell is no code of the student's; one that was written over is.
            if slot.role != "check" or not same(cell, slot.cell):
                behind.setdefault(anchor, []).append(cell)
            continue
        # A text or test cell that was dragged elsewhere says nothing about where its neighbours stand.
        if owner in unmoved or slot.role == "solution":
            anchor = owner
        if slot.role == "given" and cell["cell_type"] == "code" and not same(cell, slot.cell):
            # An import added to our set-up cell has to work; ours runs first, so that nothing of it is missing.
            behind.setdefault(owner, []).append(cell)

    notes = list(_notes(slots, first, unmoved, submitted.cells))
    notes += [f"The cell {name} is there more than once; the first one took its place." for name in sorted(copies)]
    cells: list[NotebookNode] = []
    origins: list[Origin] = []
    filled: list[Slot] = []  # of each cell; a student's own has the one of cells without a name
    for index in range(-1, len(slots)):
        if index >= 0:
            answer = submitted.cells[first[index]] if index in first else None
            cells.append(_filled(slots[index], answer))
            origins.append("solution" if slots[index].role in ("solution", "answer") else "release")
            filled.append(slots[index])
        for extra in behind.get(index, ()):
            # Nothing runs in a blank or a raw cell, and a raw one would reach a web page unescaped.
            if extra["source"].strip() and extra["cell_type"] != "raw":
                cells.append(_extra(extra, f"student-extra-{origins.count('extra') + 1}"))
                origins.append("extra")
                filled.append(slot_of(cells[-1]))
    notebook = node({"nbformat": 4, "nbformat_minor": 5, "metadata": dict(release.metadata), "cells": cells})
    return Grafted(notebook, tuple(notes), tuple(_described(cells, origins, filled)))


def harmless(markdown: str) -> str:
    """Take the power from raw HTML in a student's text, in any renderer, and leave the text readable.

    A space behind `<` is enough: no tag may begin with one, and in mathematics and code it changes nothing.
    """
    return re.sub(r"<(?=[A-Za-z/!?])", "< ", markdown)


def _filled(slot: Slot, answer: NotebookNode | None) -> NotebookNode:
    """Our cell, with the student's text where it is the student's to write."""
    cell: NotebookNode = type(slot.cell)()
    dict.update(cell, slot.cell)  # what is in it is copied when the notebook is made of all cells
    if cell["cell_type"] == "code":
        cell["outputs"], cell["execution_count"] = [], None
    if slot.role == "solution":
        cell["source"] = answer.source if answer is not None and answer.cell_type == "code" else EMPTY_SLOT
    elif slot.role == "answer" and answer is not None and not same(answer, slot.cell):
        fenced = answer.cell_type == "code" and answer.source.strip()
        cell.source = harmless("```\n" + answer.source.replace("```", "'''") + "\n```" if fenced else answer.source)
        cell.pop("attachments", None)
        if "attachments" in answer:
            cell["attachments"] = answer["attachments"]
    return cell


def _extra(cell: NotebookNode, name: str) -> NotebookNode:
    """A cell of the student's own, without any of its metadata."""
    if cell.cell_type == "code":
        outputs: dict[str, Any] = {"source": cell.source, "outputs": [], "execution_count": None}
        return node({"id": name, "cell_type": "code", "metadata": {}} | outputs)
    return node({"id": name, "cell_type": "markdown", "metadata": {}, "source": harmless(cell.source)})


def _notes(
    slots: Sequence[Slot], first: dict[int, int], unmoved: set[int], submitted: Sequence[NotebookNode]
) -> Iterator[str]:
    solutions = [index for index, slot in enumerate(slots) if slot.role == "solution"]
    checks = [index for index, slot in enumerate(slots) if slot.role == "check"]
    if submitted and solutions and not any(index in first for index in solutions):
        yield (
            "No cell of the submission could be told to be the answer to an exercise, as when a tool has removed "
            "the cells' names; its cells were run in their order."
        )
    else:
        for index in solutions:
            if index not in first:
                yield f"The submission has no cell {slots[index].name}; its place was left empty."
    for index, position in first.items():
        slot, cell = slots[index], submitted[position]
        if slot.role == "solution" and cell.cell_type != "code":
            yield f"The cell {slot.name} is a {cell.cell_type} cell in the submission, so nothing in it was run."
        elif slot.role == "answer" and cell.cell_type != slot.cell.cell_type:
            yield f"The written answer {slot.name} stood in a {cell.cell_type} cell; its text was kept."
        elif slot.role == "check" and not same(cell, slot.cell):
            yield f"The test cell {slot.name} was changed; the original one counts."
        elif slot.role == "given" and slot.cell.cell_type == "code" and not same(cell, slot.cell):
            yield f"The given cell {slot.name} was changed; the original one was run, then the changed one."
    missing = [slots[index].name for index in checks if index not in first]
    if missing and len(missing) < len(checks):
        yield f"Test cells that were missing count all the same: {', '.join(missing)}."
    if any(index not in unmoved for index in first):
        yield "Some cells had been moved; the exercises were run in the lab's order."


def _described(cells: Sequence[NotebookNode], origins: Sequence[Origin], slots: Sequence[Slot]) -> Iterator[Cell]:
    for index, (cell, origin, slot) in enumerate(zip(cells, origins, slots, strict=True)):
        kind: Kind = "check" if slot.role == "check" else "student" if cell["cell_type"] == "code" else "text"
        yield Cell(kind, slot.grade_id, cell["source"], origin, index)
