"""What a check shows: in a notebook a small page (`page` writes it), in a terminal the same as text. Never more than 25 lines.

It holds words only and decides nothing. Hints come in steps, so that a student may stop after the first: how to think about it,
what the mistake does to the numbers, where the book explains it.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from autograder.practice import page
from autograder.practice.progress import Progress
from autograder.practice.properties import Property

MOST_LINES = 24  # one more is the error's own, which stops `Run all`
MOST_PROPERTIES = 6  # that have a line of their own in text
MOST_CHARS = 220  # of the comparator's line, which may quote the student
WIDTH = 110  # of a line of text, where it can be broken
LEAST_CODE = 4  # lines of code that are worth showing
BAR = 20  # characters
REPOSITORY = "https://github.com/normalization-course/normalization-course"
COURSE_URL = "COURSE_URL"  # the variable that tells where the course's website lies, as for the feedback pages
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

State = Literal["passed", "noted", "not yet"]


@dataclass(frozen=True)
class Row:
    """One property as it is shown: the subject, how it went, and the comparator's line where it is wrong."""

    subject: str
    state: Literal["passed", "wrong", "not reached"]
    line: str = ""
    where: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The mistake that the work shows, the page on it, and the hints in their order: (what the hint is about, its words)."""

    title: str
    url: str
    section: str
    hints: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class View:
    """What one run of `check` found. `print` writes it as text; a notebook shows it as a page."""

    name: str
    title: str
    state: State
    summary: str
    rows: tuple[Row, ...] = ()
    code: str = ""
    diagnoses: tuple[Diagnosis, ...] = ()  # two where two mistakes were combined, the one to mend first in front
    advice: str = ""
    progress: Progress | None = None
    hints: int = 0  # how many of the hints text shows; a page has them all, folded

    @property
    def headline(self) -> str:
        """The check, its state, the count: one line."""
        return clean(f"{self.name}: {self.state} ({'; '.join(part for part in (self.title, self.summary) if part)})")

    def __str__(self) -> str:
        """Return it as text of at most MOST_LINES lines."""
        before, after = [self.headline, *self._row_lines()], [*self._told(), *self._bar()]
        room = MOST_LINES - len(before) - len(after)
        code = self._code_lines(room)
        lines = [*before, *code, *after][:MOST_LINES]
        return "\n".join(" ".join(clean(line).splitlines()) for line in lines)

    def __repr__(self) -> str:
        """Return the text, which is what a terminal shows of a cell's last value."""
        return str(self)

    def _repr_html_(self) -> str:
        return page.html_of(self)

    def _row_lines(self) -> Iterator[str]:
        if self.state != "not yet":
            return
        wrong = [row for row in self.rows if row.state == "wrong"]
        for row in wrong[:MOST_PROPERTIES]:
            line = row.line if len(row.line) <= MOST_CHARS else row.line[: MOST_CHARS - 3] + "..."
            yield clean(f"  no  {line}" + (f"   [{row.where}]" if row.where else ""))
        if len(wrong) > MOST_PROPERTIES:
            yield f"  no  {', '.join(row.subject for row in wrong[MOST_PROPERTIES:])}"
        for state, word in (("passed", "ok"), ("not reached", "--  not reached:")):
            subjects = ", ".join(row.subject for row in self.rows if row.state == state)
            if subjects:
                yield f"  {word}  {textwrap.shorten(clean(subjects), WIDTH, placeholder=' ...')}"

    def _code_lines(self, room: int) -> list[str]:
        lines = clean(self.code).split("\n") if self.code else []
        if not lines or room < LEAST_CODE + 1:
            return []
        if len(lines) > room - 1:
            lines = [*lines[: room - 2], f"# ... {len(lines) - room + 2} lines more, shown in a notebook"]
        return ["The smallest call that shows it:", *(f"    {line}" for line in lines)]

    def _told(self) -> Iterator[str]:
        for number, found in enumerate(self.diagnoses):
            yield from _broken(f"{'And like' if number else 'This looks like'}: {found.title}")
            shown = 0 if number else max(0, self.hints)
            for title, words in found.hints[:shown]:
                yield from _broken(f"  {title}: {words}")
            yield f"  Read: {found.url}"
            if not number and shown < len(found.hints):
                yield f'  A hint: check("{self.name}", hints={shown + 1})'
        if self.advice and not self.diagnoses:
            yield from _broken(self.advice)

    def _bar(self) -> Iterator[str]:
        if self.progress is not None and self.progress.points:
            full = round(BAR * self.progress.passed / self.progress.points)
            yield f"[{'#' * full}{'-' * (BAR - full)}] {self.progress.sentence}"


def row_of(found: Property, scenario: str) -> Row:
    """Return the row of a property."""
    if found.found is not None:
        line = found.found.line
        return Row(found.subject, "wrong", line, f"{scenario}; right in {found.agreed} of {found.seen}")
    return Row(found.subject, "passed" if found.reached else "not reached")


def url_of(where: str) -> str:
    """Return the address of a page of the book: on the course's website where one is named, else its source."""
    site = os.environ.get(COURSE_URL, "")
    if site.startswith(("https://", "http://")):
        return f"{site.rstrip('/')}/{where}"
    return f"{REPOSITORY}/blob/main/{where.replace('.html', '.md')}"


def section_of(where: str) -> str:
    """Return the names of chapter and section in words: "mathematical formulation, bn forward"."""
    chapter, _, section = where.rpartition("/")[2].partition("#")
    return ", ".join(part.replace("-", " ") for part in (chapter.removesuffix(".html"), section) if part)


def clean(text: str) -> str:
    """Return the text without characters that a terminal or a page would obey."""
    return CONTROLS.sub("", text)


def _broken(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.wrap(clean(text), WIDTH, subsequent_indent=indent) or [""]
