"""Two edits in one source go where they belong or nowhere, and a pair is named only when nothing else shows the same."""

from __future__ import annotations

import pytest

from autograder.checks.check import Mistake
from autograder.checks.compose import MOST_PAIRS, choose_composed, composed, hunks, restyled

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


def mistake(ident: str, old: str, new: str) -> Mistake:
    """A mistake that is one edit of the plain source."""
    return Mistake(ident, "f", "f-check", "t", "s", "h", "p", PLAIN.replace(old, new))


ONE, TWO, THREE, FOUR = (
    mistake(*words)
    for words in (
        ("one", "x + 1", "x"),
        ("two", "a * 2", "a"),
        ("three", "b - 3", "b"),
        ("four", "return c", "return a"),
    )
)


def told(pairs: list[tuple[Mistake, Mistake]], *fitting: str, plain: str | None = PLAIN) -> list[str]:
    """The names given when the sources of those names show what the submission shows."""
    return [m.id for m in choose_composed(pairs, plain, lambda both, checks: both.id in fitting)]


@pytest.mark.parametrize(
    ("fitting", "names"),
    [
        ((), []),
        (("one+two",), ["one", "two"]),
        (("one+two", "one+three"), ["one"]),
        (("one+two", "three+four"), []),
    ],
    ids=["none shows it", "one pair shows it", "two pairs with a common one", "two pairs that share nothing"],
)
def test_a_pair_is_named_when_it_alone_shows_the_same(fitting: tuple[str, ...], names: list[str]) -> None:
    """Where several pairs do, what they have in common is the first to mend; else nothing is said."""
    assert told([(ONE, TWO), (ONE, THREE), (THREE, FOUR)], *fitting) == names


def test_nothing_is_named_without_a_plain_source_or_among_very_many() -> None:
    """A lab need not give its plain sources; a check that tells no mistake apart names none."""
    assert told([(ONE, TWO)], "one+two", plain=None) == []
    assert told([(ONE, TWO)] * (MOST_PAIRS + 1), "one+two") == []


def test_edits_that_undo_each_other_are_no_pair() -> None:
    """What equals one of the two is that one."""
    assert composed(ONE, ONE, PLAIN) is None
    both = composed(ONE, TWO, PLAIN)
    assert both is not None
    assert both.source == PLAIN.replace("x + 1", "x").replace("a * 2", "a")
