"""The feedback page of one submission: a graded notebook and its report as one HTML file.

The page answers a student's questions in their order: how many points, what is wrong, the smallest call that shows it,
where to read on; the code and what it printed stand behind a fold. It is one file without scripts and without requests,
readable on a phone, in print and in the dark. Everything of the student's is escaped or went through `safety`.

Nothing here knows nbgrader: `feedback` reads the gradebook, and the command line calls `feedback_page` as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, Template
from markupsafe import Markup
from nbformat import NotebookNode

from autograder.grading.report import CheckResult, Report
from autograder.plugins.highlight import highlighted
from autograder.plugins.safety import PICTURE, safe_html

EXTRA = "student-extra"  # how `graft` names the student's own cells
TEMPLATES = Path(__file__).parent / "templates"
MAX_CODE_CHARS = 100_000


@dataclass(frozen=True)
class Output:
    """Something a cell printed or drew: text, or the source of a picture."""

    text: str = ""
    picture: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Code:
    """A cell of the student's."""

    name: str
    html: Markup
    outputs: tuple[Output, ...]
    comment: Markup


@dataclass(frozen=True)
class Verdict:
    """What one check found, and the points that stand in the gradebook (a person may have changed them)."""

    result: CheckResult
    score: float


@dataclass(frozen=True)
class Answer:
    """A written answer, graded by a person; without a score as long as nobody has."""

    name: str
    html: Markup
    score: float | None
    max_score: float
    comment: Markup


@dataclass
class Section:
    """One exercise: its code, then what the checks say of it."""

    title: str = ""
    code: list[Code] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    # Asked for when a section is complete, and often.
    @cached_property
    def score(self) -> float:
        """Points earned here."""
        return sum(verdict.score for verdict in self.verdicts) + sum(answer.score or 0.0 for answer in self.answers)

    @cached_property
    def waiting(self) -> bool:
        """Tell whether a person has still to grade an answer here."""
        return any(answer.max_score and answer.score is None for answer in self.answers)

    @cached_property
    def max_score(self) -> float:
        """Points to be had here."""
        parts = [verdict.result.max_points for verdict in self.verdicts]
        return sum(parts) + sum(answer.max_score for answer in self.answers)


def feedback_page(
    notebook: NotebookNode,
    report: Report,
    *,
    title: str = "",
    book_url: str = "",
    score: float | None = None,
    max_score: float | None = None,
    late_penalty: float = 0.0,
) -> str:
    """Return the page.

    Args:
        notebook: the notebook of `Graded`, or the same after nbgrader's GetGrades has put in scores and comments.
        report: the report of `Graded`.
        title: the heading; the lab notebook's own if empty.
        book_url: where the website lies, with the slash; without it, pages are named and not linked.
        score: points in all, if the gradebook has other ones than the report (written answers, a person's changes).
        max_score: points to be had in all.
        late_penalty: points taken off for handing in late, in all.
    """
    sections = list(_sections(notebook, report))
    page: str = _template().render(
        title=title or _heading(notebook) or report.lab,
        report=report,
        sections=sections,
        book_url=book_url,
        score=sum(section.score for section in sections) if score is None else score,
        max_score=sum(section.max_score for section in sections) if max_score is None else max_score,
        late_penalty=late_penalty,
    )
    return page


@lru_cache(maxsize=1)
def _template() -> Template:
    """The page's template; to compile it takes longer than to fill it."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["points"] = points
    return environment.get_template("feedback.html.j2")


def _heading(notebook: NotebookNode) -> str:
    """The first heading of ours."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and not str(cell.get("id", "")).startswith(EXTRA):
            found = re.search(r"^# +(.+?) *$", cell.source, re.MULTILINE)
            return found[1] if found else ""
    return ""


def points(value: float) -> str:
    """Write points without needless decimals: 4, 2.5, 0.33."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _sections(notebook: NotebookNode, report: Report) -> Iterator[Section]:
    section = Section()
    results = {result.name: result for result in report.checks}
    for cell in notebook["cells"]:
        tags: Mapping[str, Any] = cell["metadata"].get("nbgrader", {})
        result = results.get(tags.get("grade_id", "")) if tags.get("grade") else None
        own = bool(tags.get("solution")) or str(cell.get("id", "")).startswith(EXTRA)
        opens = own and cell["cell_type"] == "code" and bool(section.verdicts)
        other = result is not None and bool(section.verdicts) and section.title != result.exercise
        if opens or other or (own and cell["cell_type"] != "code"):
            if section.code or section.verdicts:
                yield section
            section = Section()
        if result is not None and not tags.get("solution"):
            section.title = section.title or result.exercise
            section.verdicts.append(Verdict(result, float(tags.get("score", result.points))))
        elif own and cell.cell_type == "code":
            section.code.append(_code(cell, tags))
        elif own and tags.get("grade"):
            yield Section("Written answer", answers=[_answer(cell, tags)])
        elif own:
            yield Section("Your own text", answers=[_answer(cell, {})])
    if section.code or section.verdicts:
        yield section


def _code(cell: NotebookNode, tags: Mapping[str, Any]) -> Code:
    source = cell.source if len(cell.source) <= MAX_CODE_CHARS else cell.source[:MAX_CODE_CHARS] + "\n# (cut here)"
    return Code(tags.get("grade_id", ""), highlighted(source), tuple(_outputs(cell)), _comment(tags))


def _outputs(cell: NotebookNode) -> Iterator[Output]:
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            yield Output(text=_joined(output.text))
        elif output.output_type == "error":
            yield Output(text=_joined(output.traceback, "\n") or f"{output.ename}: {output.evalue}", failed=True)
        else:
            kinds = [(mime, _joined(data)) for mime, data in output.data.items()]
            urls = [f"data:{mime};base64,{''.join(data.split())}" for mime, data in kinds]
            picture = next((url for url in urls if PICTURE.fullmatch(url)), "")
            if picture:
                yield Output(picture=picture)
            elif "text/plain" in output.data:
                yield Output(text=_joined(output.data["text/plain"]))


def _joined(text: Any, between: str = "") -> str:
    joined = between.join(map(str, text)) if isinstance(text, list) else str(text)
    return re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", joined)


def _answer(cell: NotebookNode, tags: Mapping[str, Any]) -> Answer:
    html = Markup(safe_html(cell.source, cell.get("attachments")))
    graded = tags.get("score") is not None and not tags.get("waiting")
    score = float(tags["score"]) if graded else None
    return Answer(str(tags.get("grade_id", "")), html, score, float(tags.get("points", 0)), _comment(tags))


def _comment(tags: Mapping[str, Any]) -> Markup:
    return Markup(safe_html(tags["comment"])) if tags.get("comment") else Markup("")
