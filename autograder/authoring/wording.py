"""What the text of a lab promises: points, signatures, behaviours. It reads a notebook; `lint_text` compares.

Points are stated in three places, each in its form:

    **Points:** 84, of which 78 are given by the machine and 6 by a person.     once (or "..., all given by the machine")
    ## 3. `BatchNorm1d` (30 points)                                             a heading: all graded cells of its section
    ### The outputs (6 + 4 points)                                              the same, cell by cell
    **Errors** (2 points), **gradients** (3 points)                             before the cells that they speak of
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from symtable import symtable
from typing import Any

from nbformat import NotebookNode

from autograder.authoring.pages import outside_code

NUMBER = r"(\d+(?:\.\d+)?)"
POINTS = re.compile(rf"\(({NUMBER}(?: \+ {NUMBER})*) points?\b")
LABEL = re.compile(rf"\*\*[^*\n]+\*\*\s\({NUMBER} points?\b")
TOTAL = re.compile(
    rf"\*\*Points:\*\* {NUMBER}, (?:of which {NUMBER} are given by the machine and {NUMBER} by a person|all)"
)
TOTAL_FORM = "**Points:** 10, of which 8 are given by the machine and 2 by a person"


@dataclass
class Section:
    """A heading, the points that it states, and the graded cells below it up to the next heading of its level or above."""

    title: str
    level: int
    stated: tuple[float, ...]  # more than one where it is a sum; empty where nothing is stated
    cells: list[str] = field(default_factory=list)


def grading(cell: NotebookNode) -> Mapping[str, Any]:
    """Return nbgrader's metadata of a cell; empty where it has none."""
    found: Mapping[str, Any] = cell.metadata.get("nbgrader", {})
    return found


def graded(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Return the cells that carry points by their grade id, in order."""
    return {grading(cell)["grade_id"]: cell for cell in notebook.cells if grading(cell).get("grade")}


def points(cell: NotebookNode) -> float:
    """Return the points of a graded cell."""
    return float(grading(cell).get("points", 0))


def task_text(notebook: NotebookNode) -> str:
    """Return all that a student is told: the Markdown cells but for those that hold an answer."""
    return "\n\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown" and not grading(cell).get("solution")
    )


def sections(notebook: NotebookNode) -> Iterator[Section]:
    """Yield every heading with the graded cells of its section; the last entry gathers cells that no points are stated for."""
    found: list[Section] = []
    bare = Section("", 0, ())
    still_open: list[Section] = []
    for cell in notebook.cells:
        if grading(cell).get("grade"):
            for section in still_open:
                section.cells.append(grading(cell)["grade_id"])
            if not any(section.stated for section in still_open):
                bare.cells.append(grading(cell)["grade_id"])
        elif cell.cell_type == "markdown":
            for line in outside_code(cell.source):
                heading = re.fullmatch(r"(#{1,6})\s+(.+)", line)
                if heading:
                    said = POINTS.search(line)
                    stated = tuple(float(number) for number in said[1].split(" + ")) if said else ()
                    section = Section(heading[2], len(heading[1]), stated)
                    still_open = [outer for outer in still_open if outer.level < section.level] + [section]
                    found.append(section)
    yield from found
    yield bare


def labels(notebook: NotebookNode) -> Iterator[tuple[str, list[float], list[str]]]:
    """Yield what stands before a run of graded cells: the first label's words, the points of all, the cells that follow.

    The run ends at the next text with such labels or with a heading.
    """
    text, stated, run = "", list[float](), list[str]()
    for cell in notebook.cells:
        if grading(cell).get("grade"):
            run.append(grading(cell)["grade_id"])
        elif cell.cell_type == "markdown":
            lines = list(outside_code(cell.source))
            prose = "\n".join(line for line in lines if not line.startswith("#"))
            found = list(LABEL.finditer(prose))
            if found or any(line.startswith("#") for line in lines):
                if stated:
                    yield text, stated, run
                text = " ".join(prose[found[0].start() :].split())[:60] if found else ""
                stated, run = [float(label[1]) for label in found], []
    if stated:
        yield text, stated, run


def defined(source: str) -> frozenset[str] | None:
    """Return the names that a source defines at its top level; None where it is no Python."""
    try:
        symbols = symtable(source, "source", "exec").get_symbols()
    except (SyntaxError, ValueError):
        return None
    return frozenset(symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported())


def total(text: str) -> tuple[float, float, float] | None:
    """Return the points that the text states for the lab: all, the machine's, a person's; None where it states none."""
    found = TOTAL.search(" ".join(text.split()))
    if found is None:
        return None
    everything = float(found[1])
    return everything, float(found[2] or everything), float(found[3] or 0)


def signature(thing: object) -> tuple[str, ...] | None:
    """Return the parameters of a reference as `signatures` gives those of a text; None for what cannot be called."""
    if not callable(thing):
        return None
    parameters = [
        p for p in inspect.signature(thing).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return tuple(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)


def signatures(text: str, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the parameters, each with its default, of everything in a text that reads as a signature of the name."""
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\(", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        try:
            (function,) = ast.parse(f"def f({' '.join(text[match.end() : end - 1].split())}): ...").body
            assert isinstance(function, ast.FunctionDef)
            yield tuple(_parameters(function.args))
        except (SyntaxError, ValueError):
            continue


def _parameters(given: ast.arguments) -> Iterator[str]:
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    for argument, default in [
        *zip(plain, defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]:
        yield argument.arg if default is None else f"{argument.arg}={_literal(default)}"


def _literal(expression: ast.expr) -> str:
    try:
        return repr(ast.literal_eval(expression))
    except ValueError:
        return ast.unparse(expression)
