"""Code is marked as pygments marks it, token by token; only sooner."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.plugins.highlight import NAME, SHARED_CHARS, Lexer, _move, highlighted

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("solutions/*/*.py"), *ROOT.glob("autograder/[pt]*/*.py")])
PIECES = [
    '"""',
    "'''",
    '"',
    "'",
    "f'",
    'rb"',
    "{",
    "}",
    "\\",
    "\n",
    "\t",
    "#",
    "é",
    "☃",
    "\x00",
    "0x",
    "1_0.e5",
    " match ",
    "\nimport",
]
ODD = [
    "",
    "\n",
    "   ",
    "\\",
    "x = 'never closed",
    'def f():\n    """never closed',
    "f'{a!r:>{width}} {b=} {{c}} {x['y']}'",
    "rb'\\x00' + F\"{1:0.2f}\" + '%(name)s %d' + '{0} {a.b[c]}'",
    "@decorator\nasync def f(self, *, a: int = 0xFF, b=1_000.5e-3j) -> None: ...",
    "match x:\n    case _:\n        match = case = 1",
    "from . import a as b, c\nimport d.e as f\nfrom x import (\n  y,\n)",
    "$ ? ` are no Python\n! nor is this",
    "class Été(Exception): __slots__ = ()",
    "#!/usr/bin/env python\n# comment",
    "lazy import x\nlazy from y import z",
    "a = '''\\n&\\n\\n<b>\\n''' + \"\"\"\\n\"\"\"\n\n\tx = 'é' & y",
    "#\nr = 1 if ſ else K  # the long s, and the sign of kelvin\n",
]


def tokens(lexer: PythonLexer, source: str) -> list[tuple[int, object, str]]:
    return list(lexer.get_tokens_unprocessed(source))


def spoiled(source: str, seed: int) -> str:
    """Return a stretch of a file with something put in here and there, as students' code is before it runs."""
    chance = random.Random(seed)
    start = chance.randrange(max(1, len(source) - 1500))
    text = source[start : start + 1500]
    for _ in range(chance.randrange(12)):
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(PIECES) * chance.randrange(1, 3) + text[place + chance.randrange(3) :]
    return text


@pytest.mark.parametrize("source", ODD)
def test_odd_code_has_the_tokens_that_pygments_finds(source: str) -> None:
    assert tokens(Lexer(), source) == tokens(PythonLexer(), source)


def test_files_whole_and_spoiled_have_the_tokens_that_pygments_finds() -> None:
    ours, theirs = Lexer(), PythonLexer()
    for number, path in enumerate(FILES):
        source = path.read_text(encoding="utf-8")
        for text in (source[:4000], spoiled(source, number), spoiled(source, -number)):
            assert tokens(ours, text) == tokens(theirs, text), path


def test_the_comparison_above_meets_errors_and_many_kinds_of_tokens() -> None:
    found = {str(kind) for n, path in enumerate(FILES) for _, kind, _ in tokens(Lexer(), spoiled(path.read_text(), n))}
    assert "Token.Error" in found
    assert len(found) >= 25


def test_names_of_ascii_are_pygments_names() -> None:
    """The shorter expression stands in the place of pygments', if that still is written as it was."""
    theirs = re.compile(PythonLexer.uni_name)
    for char in map(chr, range(128)):
        for text in (char, f"x{char}", f"_{char}x {char}"):
            found, other = re.match(NAME, text), theirs.match(text)
            assert (found and found[0]) == (other and other[0]), text
    assert any(PythonLexer.uni_name in match.__self__.pattern for match, _, _ in PythonLexer()._tokens["root"])


def test_few_rules_are_tried_where_a_name_begins() -> None:
    """Otherwise nothing is wrong but the time that it takes."""
    lexer = Lexer()
    for is_ascii in (True, False):
        state = lexer._state("root", is_ascii)
        assert [len(state[char]) for char in "xk="] == [1, 1, 1]
        assert len(state["é"]) == len(PythonLexer()._tokens["root"])
        assert "é" not in state  # or a text of all letters that there are would stay in memory


def test_a_lexer_of_other_rules_goes_on_with_these(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another version of pygments may bring them."""
    rules = dict(PythonLexer._tokens)
    rules["root"] = [(re.compile(r"(q)\1").match, rules["root"][0][1], None), *rules["root"]]
    for lexer in (Lexer, PythonLexer):
        monkeypatch.setattr(lexer, "_tokens", rules)
    assert tokens(Lexer(), "qq = 1") == tokens(PythonLexer(), "qq = 1")
    assert tokens(Lexer(), "qq = 1")[0][2] == "qq"


@pytest.mark.parametrize(
    ("before", "move", "after"),
    [
        ("root a b", -1, "root a"),
        ("root a b", -2, "root"),
        ("root a b", -3, "root"),
        ("root a b", -9, "root"),
        ("root", -1, "root"),
        ("root a", "#push", "root a a"),
        ("root", ("#pop", "a"), "root a"),
        ("root a", ("#pop", "b", "#push"), "root b b"),
    ],
)
def test_one_state_always_stays(before: str, move: int | str | tuple[str, ...], after: str) -> None:
    """However often unfinished code leaves states that it never came into."""
    states = before.split()
    _move(states, move)
    assert states == after.split()


@pytest.mark.parametrize("source", ["x = 1 < 2 & '<b>'", "y = x\n" * SHARED_CHARS, *ODD])
def test_the_html_is_pygments(source: str) -> None:
    assert highlighted(source) == highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))


def test_the_html_of_files_whole_and_spoiled_is_pygments() -> None:
    lexer, formatter = PythonLexer(), HtmlFormatter(nowrap=True)
    for number, path in enumerate(FILES):
        source = path.read_text(encoding="utf-8")
        for text in (source[:4000], spoiled(source, number), spoiled(source, -number)):
            assert highlighted(text) == highlight(text, lexer, formatter), path
