"""Two mistakes at once, on paper: four scenarios, what each mistake shows in them, what the submission shows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from autograder.checks.check import Check
from autograder.checks.pairs import EVIDENCE, WHOLE, Signs, Spot, choose_two

CHECK = Check("made-up", "f", 1, "a promise", lambda _: ())
OTHER = Check("other", "f", 1, "another promise", lambda _: ())


@dataclass(frozen=True)
class Known:
    """A mistake: a letter for what it shows in each scenario, "." where it is right."""

    id: str
    shows: str
    check: str = "made-up"
    exercise: str = "f"
    elsewhere: str = "...."


A, B, C = Known("a", "aa.a"), Known("b", ".bbb"), Known("c", "c...")


def told(submission: str, *known: Known, elsewhere: str = "....") -> str:
    """The names that a submission gets, in order. A word is a scenario, a letter what stands after one step."""
    shown = {"made-up": _words(submission), "other": _words(elsewhere)}

    def at(entry: Known, check: Check, place: int) -> str:
        return _words(entry.shows if check is CHECK else entry.elsewhere)[place]

    signs = Signs[Known](
        {name: [_spots(word) for word in words] for name, words in shown.items()},
        lambda entry, check, place: _spots(at(entry, check, place)),
        lambda entry, check, place, spot: _fits(at(entry, check, place), shown[check.name][place], spot),
    )
    # Where mistakes have been run before changes the order of the questions, not the answer.
    orders = (lambda *_: 0, lambda _, place: place, lambda _, place: -place)
    (names,) = {
        "".join(entry.id for entry in choose_two(CHECK, (CHECK, OTHER), known, replace(signs, shown=order)))
        for order in orders
    }
    return names


def _fits(mistaken: str, given: str, spot: Spot) -> bool:
    if spot == EVIDENCE:
        return ("#" in mistaken) == ("#" in given)
    return mistaken == given if spot == WHOLE else mistaken[spot[0]] == given[spot[0]]


def _words(text: str) -> list[str]:
    return text.split() if " " in text else list(text)


def _spots(word: str) -> frozenset[Spot]:
    """An upper-case letter is an exception, which ends the scenario; # is the evidence that something forbidden ran."""
    spots = {(step, "" if letter.isupper() else "y") for step, letter in enumerate(word) if letter not in ".#"}
    return frozenset(spots | ({EVIDENCE} if "#" in word else set()))


@pytest.mark.parametrize(
    ("submission", "names", "why"),
    [
        ("a?b?", "ab", "each is seen alone once, the rest is a mixture"),
        ("axbx", "ab", "whatever the mixture looks like"),
        ("ax.x", "", "b is wrong in the third, where the submission is right"),
        ("axxx", "", "the third is neither's"),
        ("xxbx", "", "the first is nobody's"),
        ("x.b.", "", "neither a nor b is right in the second"),
        ("a.bx", "", "the second must be wrong, since both are"),
        ("....", "", "nothing is wrong"),
        ("????", "", "nothing fits"),
    ],
)
def test_a_pair_is_named_only_where_every_scenario_agrees(submission: str, names: str, why: str) -> None:
    """A wrong name is worse than none."""
    assert told(submission, A, B) == names, why


def test_the_one_that_is_seen_more_often_comes_first() -> None:
    """It is the one to mend first."""
    assert told("aa?b", Known("a", "aaa."), Known("b", "..bb")) == "ab"
    assert told("a?bb", Known("a", "aa.."), Known("b", ".bbb")) == "ba"


def test_nobody_is_named_on_the_word_of_one_that_is_never_seen_alone() -> None:
    """Such a second one could explain anything."""
    assert told("aaa?", Known("a", "aaaa"), Known("b", "...b")) == ""
    assert told("aa??", Known("a", "aaaa"), Known("b", "..bb")) == ""


def test_nothing_is_named_where_two_pairs_explain_as_much() -> None:
    """Half a name would be a guess, too."""
    assert told("a?b?", A, B, Known("d", ".bbb")) == ""
    assert told("a?b?", A, Known("e", "aa.a"), B) == ""


def test_a_mistake_of_another_exercise_is_no_candidate() -> None:
    """Names are given within an exercise."""
    assert told("a?b?", A, Known("b", ".bbb", exercise="g")) == ""


def test_the_checks_made_for_the_two_have_a_say() -> None:
    """What the pair does not explain there rules it out."""
    made_elsewhere = Known("b", ".bbb", check="other", elsewhere="bb..")
    assert told("a?b?", A, made_elsewhere, elsewhere="bb..") == "ab"
    assert told("a?b?", A, made_elsewhere, elsewhere="bx..") == ""
    assert told("a?b?", A, made_elsewhere, elsewhere="bbb.") == ""


def test_one_that_explains_all_alone_is_left_to_the_single_diagnosis() -> None:
    """A pair must add something, and C is wrong where nothing is."""
    assert told("c...", C, A) == ""


def test_two_addresses_of_one_scenario_tell_two_mistakes_apart() -> None:
    """One spoils the first result, the other the second, in every scenario."""
    a, b = Known("a", "a. a."), Known("b", ".b .b")
    assert told("ab ab", a, b) == "ab"
    assert told("ab ax", a, b) == ""
    assert told("a. ab", a, b) == ""


def test_an_exception_hides_what_comes_after_it() -> None:
    """The other one cannot be seen there, and need not be."""
    a, b = Known("a", "A .."), Known("b", ".b .b")
    assert told("A .b", a, b) == "ab"
    assert told("A ..", a, b) == ""
    assert told("A .b", Known("a", "aA .."), b) == ""


def test_that_something_forbidden_ran_is_not_enough_to_be_seen() -> None:
    """Every way of calling autograd leaves that mark."""
    a, b = Known("a", "#. .."), Known("b", ".b .b")
    assert told("#b .b", a, b) == ""
    assert told("#b .b", Known("a", "#a .."), b) == ""
    assert told("#x .b a.", Known("a", "#. .. a."), Known("b", ".b .b ..")) == ""
    assert told("#b .b a.", Known("a", "#. .. a."), Known("b", ".b .b ..")) == "ba"
