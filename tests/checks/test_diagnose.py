"""A name is given to what a known mistake shows, and to nothing else: a wrong diagnosis is worse than none."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest

from autograder.checks.check import Check, Draw, Lab, Mistake
from autograder.checks.diagnose import alike
from autograder.checks.pairs import same_at
from autograder.grading.judge import Inquiry, Judge, namespace
from autograder.probe.run import run
from autograder.trace.scenario import Call, Recipe, Scenario

REFERENCE = """
import torch
def f(x, scale):
    if x.dim() != 1:
        raise ValueError("one axis")
    return x * scale + 1
"""


def _scenarios(draw: Draw) -> tuple[Scenario, ...]:
    return tuple(Scenario(f"{n} numbers", (Call("f", (draw.tensor(n, loc=2.0), s)),)) for n, s in ((2, 3.0), (3, 1.0)))


def _one(draw: Draw) -> tuple[Scenario, ...]:
    return (Scenario("scale 1", (Call("f", (draw.tensor(4), 1.0)),)),)


def _errors(draw: Draw) -> tuple[Scenario, ...]:
    return (Scenario("two axes", (Call("f", (Recipe((2, 2), 1), 1.0)),)),)


CHECKS = (
    Check("values", "f", 2, "values", _scenarios, ("result",)),
    Check("unscaled", "f", 1, "a scale of one", _one, ("result",)),
    Check("errors", "f", 1, "a ValueError", _errors, ()),
)


def mistake(name: str, check: str, body: str) -> Mistake:
    """A wrong f in a few words."""
    source = "import torch\ndef f(x, scale):\n" + "".join(f"    {line}\n" for line in body.split("; "))
    return Mistake(name, "f", check, f"{name} it is", "symptom", "hint", "page", source)


REFUSE = "z = [0][x.dim() - 1] if x.dim() == 1 else int('two axes'); "  # int raises a ValueError
KNOWN = (
    mistake("no-one", "values", REFUSE + "return x * scale"),
    mistake("no-scale", "values", REFUSE + "return x + 1"),
    mistake("list", "values", REFUSE + "return [x]"),
    mistake("twice", "values", REFUSE + "return x * scale + 2"),
    mistake("flat", "errors", "return x * scale + 1"),
    mistake("flat-zero", "errors", "return x * scale + 1 if x.dim() == 1 else torch.zeros(1)"),
    mistake("crash", "values", "raise TypeError('expected 3 things')"),
)


def _lab(mistakes: Sequence[Mistake]) -> Lab:
    return Lab("lab", "A lab", ("f",), CHECKS, {"f": namespace(REFERENCE, "reference")["f"]}, tuple(mistakes))


def named(
    source: str, check: str = "values", mistakes: Sequence[Mistake] = KNOWN, only: Sequence[str] = ()
) -> str | None:
    """The name that a submission gets in one check."""
    judge = Judge(_lab(mistakes), 3)
    names = namespace(source, "submission")
    asked = [c for c in CHECKS if not only or c.name in only]
    found = judge.diagnosis(judge.lab.check(check), {c.name: run(judge.scenarios(c), names) for c in asked})
    return None if found is None else found.id


def f(body: str) -> str:
    """A submission in other words than any mistake."""
    return mistake("s", "values", body).source


@pytest.mark.parametrize(
    ("body", "check", "name"),
    [
        ("if x.dim() > 1: raise ValueError; return scale * x", "values", "no-one"),
        ("if x.dim() > 1: raise ValueError; return torch.mul(x, scale).clone()", "values", "no-one"),
        ("if x.dim() > 1: raise ValueError; return 1.0 + x", "values", "no-scale"),
        ("if x.dim() > 1: raise ValueError; return (1 + scale * x) + 1", "values", "twice"),
        ("if x.dim() > 1: raise ValueError; return list([x])", "values", "list"),
        ("return 1 + x * scale", "errors", "flat"),
        ("return 1 + x * scale if x.dim() < 2 else torch.zeros(1)", "errors", "flat-zero"),
        ("raise TypeError('expected 17 things')", "values", "crash"),
        ("raise TypeError('Expected 3 things ')", "values", "crash"),
    ],
)
def test_a_known_mistake_is_named_in_any_style(body: str, check: str, name: str) -> None:
    """By what it shows, not by how it is written."""
    assert named(f(body), check) == name


def test_infinite_numbers_are_compared_without_a_word_of_numpys() -> None:
    """In a whole trace and at one place of it; it would stand in the grader's log, for each tensor."""
    check = CHECKS[1]
    judge = Judge(_lab(()), 3)
    expected = judge.expected(check)[0]
    one, other = (
        run(judge.scenarios(check), namespace(f(f"return x + float('{n}')"), "s"))[0] for n in ("inf", "-inf")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a, b in ((one, one), (one, other)):
            assert alike(check, expected, a, b) is (a is b)
            assert same_at((0, "result"), check, expected, a, b) is (a is b)


def test_who_was_graded_before_changes_no_name() -> None:
    """Mistakes are asked about where they have been run for others; the answer is that of a judge who has seen nobody."""
    submissions = [
        *(m.source for m in KNOWN),
        f("return x * scale if scale > 2 else x * scale + 1"),
        f("return x"),
        f("return 1"),
    ]
    for order in (submissions, submissions[::-1], submissions[3:] + submissions[:3]):
        judge = Judge(_lab(KNOWN), 3)
        for source in order:
            names = namespace(source, "submission")
            traces = {c.name: run(judge.scenarios(c), names) for c in CHECKS}
            inquiry = Inquiry(frozenset(c.name for c in CHECKS if judge.verdict(c, traces[c.name]).passed))
            for check in CHECKS:
                alone = judge.diagnosis(check, traces)
                assert (None if alone is None else alone.id) == named(source, check.name)
                if check.name not in inquiry.passed:
                    assert judge.diagnoses(check, traces, inquiry)[:1] == (() if alone is None else (alone,))


@pytest.mark.parametrize(
    "body",
    [
        "if x.dim() > 1: raise ValueError; return x * scale + 1",  # nothing is wrong
        "if x.dim() > 1: raise ValueError; return x * scale + 3",  # wrong in a way of its own
        "if x.dim() > 1: raise ValueError; return x * scale if scale > 2 else x * scale + 1",  # a mistake here, not there
        "if x.dim() > 1: raise ValueError; return (x * scale)[None]",
        "if x.dim() > 1: raise ValueError; return (x * scale).float()",
        "if x.dim() > 1: raise ValueError; return (x,)",
        "if x.dim() > 1: raise ValueError; return {'x': x}",
        "return [x, x]",
        "raise TypeError('something else entirely')",  # a crash with other words
        "raise KeyError('expected 3 things')",  # with another class
        "return float('nan') * x",
        "return None",
    ],
)
def test_it_is_silent_about_anything_else(body: str) -> None:
    """Nearly fitting is not fitting."""
    assert named(f(body)) is None


def test_a_passing_check_has_no_diagnosis() -> None:
    """Although the submission is a mistake that another check shows."""
    assert named(f("return x * scale + 1"), "values") is None
    assert named(f("return x * scale + 1"), "errors") == "flat"


def test_a_check_that_was_not_run_has_none() -> None:
    """No traces, no name."""
    assert named(f("return x * scale"), "values", only=["errors"]) is None


def test_without_mistakes_there_is_silence() -> None:
    """A lab may have none yet."""
    assert named(f("return x * scale"), mistakes=()) is None


def test_the_one_that_fits_most_checks_wins() -> None:
    """Two mistakes show the same in the failing check; the other checks tell them apart."""
    same_values = mistake("no-one-and-flat", "values", "return x * scale")
    for order in ((KNOWN[0], same_values), (same_values, KNOWN[0])):
        assert named(f("return scale * x"), "values", order) == "no-one-and-flat"
        assert named(f("if x.dim() > 1: raise ValueError; return scale * x"), "values", order) == "no-one"


def test_between_equals_the_one_made_for_the_check_wins() -> None:
    """It has the words for what that check is about."""
    twin = mistake("twin", "unscaled", REFUSE + "return x * scale")
    for order in ((KNOWN[0], twin), (twin, KNOWN[0])):
        body = f("if x.dim() > 1: raise ValueError; return scale * x")
        assert (named(body, "values", order), named(body, "unscaled", order)) == ("no-one", "twin")


def test_a_mistake_of_another_exercise_is_never_named() -> None:
    """It is about another name."""
    other = Mistake("other", "g", "values", "t", "s", "h", "p", KNOWN[0].source)
    assert named(f("return scale * x"), mistakes=(other,)) is None


def test_a_mistake_that_is_none_here_is_not_named() -> None:
    """It does what the reference does in the scenario that fails, so it explains nothing."""
    right = mistake("right", "values", REFUSE + "return x * scale + 1")
    assert named(f("return x * scale + 1.5"), mistakes=(right,)) is None
