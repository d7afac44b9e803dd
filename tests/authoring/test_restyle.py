"""Rewriting a source in another one's style: the changes go where they belong, or nowhere."""

from __future__ import annotations

import pytest

from autograder.authoring.restyle import STYLES, hunks, restyled
from autograder.grading.judge import namespace

PLAIN = """\
def f(x):
    a = x + 1
    b = a * 2
    c = b - 3
    return c
"""
DOUBLED = PLAIN.replace("a * 2", "a + a")
INSERTED = PLAIN.replace("    return c\n", "    c = float(c)\n    return c\n")
WRONG = PLAIN.replace("- 3", "- 4")


@pytest.mark.parametrize(
    "other",
    [DOUBLED, INSERTED, PLAIN.replace("    c = b - 3\n    return c\n", "    return b - 3\n"), "# first\n" + PLAIN],
)
def test_the_hunks_of_a_source_turn_the_plain_one_into_it(other: str) -> None:
    """Replaced, inserted and deleted lines alike."""
    assert restyled(PLAIN, hunks(PLAIN, other), all_of_them=True) == other


def test_two_edits_meet_in_one_source() -> None:
    """A mistake in the style of a variant."""
    made = restyled(WRONG, hunks(PLAIN, DOUBLED), all_of_them=True)
    assert made == DOUBLED.replace("- 3", "- 4")


def test_edits_of_the_same_line_do_not() -> None:
    """Nothing is guessed."""
    assert restyled(WRONG, hunks(PLAIN, PLAIN.replace("- 3", "- 5")), all_of_them=True) is None
    assert restyled(WRONG, hunks(PLAIN, PLAIN.replace("- 3", "- 5"))) is None


def test_what_does_not_parse_is_no_source() -> None:
    """A hunk may cut a bracket in two."""
    assert restyled("x = (1)\n", [("x = (1)\n", "x = (1\n")]) is None


@pytest.mark.parametrize("style", STYLES)
def test_a_style_changes_the_text_and_not_what_it_does(style: str) -> None:
    """For a function, a class with a helper, a closure and a comprehension."""
    source = """\
import math
SCALE = 2
class Layer:
    def __init__(self, n, eps=0.5):
        size = n + eps
        self.size = size
    def forward(self, x):
        n = [i * self.size for i in x]
        return self.helped(n)
    def helped(self, n):
        total = sum(n)
        def inner(y):
            return math.sqrt(y + total)
        return inner(SCALE)
"""
    made = STYLES[style](source)
    assert made != source
    layers = [namespace(text, "layer")["Layer"](3) for text in (source, made)]  # type: ignore[operator]
    assert layers[0].forward([1, 2]) == layers[1].forward([1, 2])
