"""The words of every lab's mistakes suit a student: a title for a report, a symptom, a hint that is not the answer.

Whether a mistake belongs to its check and links to a page is `labs lint`'s business; whether it is caught and named, the matrix's.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.authoring.survey import variants_of
from autograder.checks.check import Lab
from autograder.grading.course import lab_names, load_lab

COURSE = Path(__file__).resolve().parents[2]
LABS = lab_names(COURSE)
CHANCE = re.compile(r"\brand(n|int|perm|om)?\b|rand\w*_like|multinomial|bernoulli|manual_seed|dropout|import time\b")
SEEDED = re.compile(r"(torch\.)?Generator\(\)\.manual_seed\(\d+\)")
SHORT = 12  # characters: a shorter line may well stand in a sentence


@pytest.fixture(params=LABS)
def lab(request: pytest.FixtureRequest) -> Lab:
    """One lab of the course."""
    return load_lab(COURSE, request.param)


def test_an_id_is_a_word_with_hyphens(lab: Lab) -> None:
    """It stands in reports, in tables and in names of tests."""
    assert [m.id for m in lab.mistakes if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", m.id)] == []


def test_a_title_fits_a_line(lab: Lab) -> None:
    """It says what is wrong, in a table as in a report: one line, no full stop."""
    assert [m.id for m in lab.mistakes if not 10 < len(m.title) <= 120 or "\n" in m.title] == []
    assert [m.id for m in lab.mistakes if m.title.endswith(".") or m.title != m.title.strip()] == []


def test_a_symptom_and_a_hint_are_sentences(lab: Lab) -> None:
    """The symptom is what a student sees; the hint may end with a question."""
    assert [m.id for m in lab.mistakes if not m.symptom.endswith(".") or len(m.symptom) < 10] == []
    assert [m.id for m in lab.mistakes if not m.hint.endswith((".", "?")) or len(m.hint) < 10] == []


def test_a_hint_is_not_the_line_to_type(lab: Lab) -> None:
    """No line of the plain sources, of the notebook's solutions or of the reference stands in it."""
    answers = frozenset(answer_lines(lab))
    assert len(answers) > 20
    assert [(m.id, line) for m in lab.mistakes for line in answers if line in m.hint] == []


def test_the_look_for_answers_can_find_one() -> None:
    """The lines that a hint may not hold are those that one would type."""
    answers = set(answer_lines(load_lab(COURSE, "lab01_batch_norm")))
    assert "mean = x.mean(dim=axes)" in answers  # plain
    assert "x_hat = normalize(x, mean, var, eps)" in answers  # the notebook
    assert "s = (var + eps).sqrt()" in answers  # the reference


def answer_lines(lab: Lab) -> Iterator[str]:
    """Yield the lines of code that answer a lab, without docstrings and comments."""
    folder = COURSE / "solutions" / lab.name
    notebook = (folder / "notebook.py").read_text(encoding="utf-8")
    texts = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", notebook, flags=re.DOTALL)
    for path in folder.glob("plain*.py"):
        strings = (
            n.value for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant)
        )
        texts += [value for value in strings if isinstance(value, str) and "\n" in value]
    texts += [inspect.getsource(thing) for thing in lab.reference.values() if callable(thing)]
    for text in texts:
        yield from (line.strip() for line in _code(text).splitlines() if len(line.strip()) >= SHORT)


def _code(text: str) -> str:
    """Return what of a text is code; nothing where it is prose, as a docstring is."""
    try:
        tree = ast.parse(textwrap.dedent(text.strip("\n")))
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            kept = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            node.body = kept or [ast.Pass()]
    return ast.unparse(tree)


def test_sources_leave_nothing_to_chance(lab: Lab) -> None:
    """The same source shows the same trace in every run, or a diagnosis would be luck."""
    sources = {m.id: m.source for m in lab.mistakes} | {v.id: v.file for v in variants_of(COURSE, lab.name)}
    assert [ident for ident, source in sources.items() if CHANCE.search(SEEDED.sub("", source))] == []
    unfilled = re.compile(r"\bempty(_like)?\((?!0\))")  # a variant may fill what it allocates
    assert [m.id for m in lab.mistakes if unfilled.search(m.source)] == []


def test_no_source_is_there_twice(lab: Lab) -> None:
    """Two mistakes of one text are one mistake, and a mistake that is also a variant is none."""
    wrong = Counter((m.exercise, m.source) for m in lab.mistakes)
    right = {pair for variant in variants_of(COURSE, lab.name) for pair in variant.sources.items()}
    assert [m.id for m in lab.mistakes if wrong[m.exercise, m.source] > 1 or (m.exercise, m.source) in right] == []


def test_there_are_mistakes_and_variants_enough() -> None:
    """Over all labs at least two hundred mistakes and sixty variants, no two variants with one text."""
    assert sum(len(load_lab(COURSE, name).mistakes) for name in LABS) >= 200
    files = [variant.file for name in LABS for variant in variants_of(COURSE, name)]
    assert len(files) == len(set(files)) >= 60
