"""What an expression is said to begin with is never too little, or a token would be missed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.lexers import PythonLexer

from autograder.plugins.beginning import ASCII, beginning

DIGITS, SPACES = frozenset("0123456789"), frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f ")
SOURCE = Path(__file__).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("pattern", "chars"),
    [
        ("abc", "a"),
        ("a?bc", "ab"),
        ("a*(b|c+)d", "abc"),
        ("(|a)b", "ab"),
        ("(?:a|bc)*?x", "abx"),
        ("a{2,3}", "a"),
        (r"^\b(?<!x)a$", "a"),
        (r"(?=y)a", "a"),
        ("[a-cé]x", "abc"),
        ("é|a", "a"),
        ("[^ab]", ASCII - {"a", "b"}),
        (r"[^\S\n]+", SPACES - {"\n"}),
        (r"\d\w", DIGITS),
        (r"\s", SPACES),
        (r"[\d_]", DIGITS | {"_"}),
        (r"\D", ASCII - DIGITS),
        ("(?i)ab", "aA"),
        ("(?i)[bc]", "bBcC"),
        ("(?i:a)b|c", "aAc"),
        ("(?i)é", ASCII),
        ("(?i)[^ab]", ASCII),
        ("(?i)(?-i:a)", ASCII),
        (".", ASCII),
        ("", ASCII),
        ("a*", ASCII),
        ("$", ASCII),
        (r"(a)?\1b", ASCII),
        (r"(a)?(?(1)b|c)", ASCII),
        ("(?>a)", ASCII),
        ("a++", ASCII),
        ("(?a)a", ASCII),
    ],
)
def test_an_expression_begins_with_these(pattern: str, chars: str | frozenset[str]) -> None:
    assert beginning(re.compile(pattern)) == frozenset(chars)


def test_no_rule_of_pygments_matches_where_it_is_said_not_to_begin() -> None:
    """Each rule at each place of this file, and of short texts of two characters."""
    rules = {match.__self__ for rules in PythonLexer()._tokens.values() for match, _, _ in rules}
    pairs = [first + second for first in sorted(ASCII) for second in "x'\"{ \n=1"]
    known = 0
    for rule in rules:
        chars = beginning(rule)
        known += chars != ASCII
        others = ASCII - chars
        assert not [place for place, char in enumerate(SOURCE) if char in others and rule.match(SOURCE, place)]
        assert not [pair for pair in pairs if pair[0] in others and rule.match(pair)]
    assert known > len(rules) / 2
