"""Checks that ask alike are one question: drawn once, looked at wherever one of them looks, each judged by its own part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from autograder.checks.check import Check, Draw, Lab
from autograder.grading.asking import Asking
from autograder.grading.course import lab_names, load_lab
from autograder.grading.judge import Judge
from autograder.grading.place import find_course
from autograder.probe.run import run
from autograder.trace.scenario import Call, Scenario


def _both(draw: Draw) -> tuple[Scenario, ...]:
    return tuple(Scenario(f"{n} numbers", (Call("f", (draw.tensor(n),)),)) for n in (2, 3))


def _other(draw: Draw) -> tuple[Scenario, ...]:
    return _both(draw)


def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The reference."""
    return 2 * x, 3 * x


TWICE = Check("twice", "f", 1, "twice", _both, ("result[0]",))
THRICE = Check("thrice", "f", 1, "thrice", _both, ("result[1]",))
ELSEWHERE = Check("elsewhere", "g", 1, "another exercise", _both, ("result[0]",))
APART = Check("apart", "f", 1, "another function", _other, ("result[0]",))
LAB = Lab("lab", "A lab", ("f",), (TWICE, ELSEWHERE, THRICE, APART), {"f": f})


@pytest.mark.parametrize(
    ("check", "alike"),
    [
        (TWICE, (TWICE, THRICE)),
        (THRICE, (TWICE, THRICE)),
        (ELSEWHERE, (ELSEWHERE,)),
        (APART, (APART,)),
        (replace(TWICE, scenarios=lambda _: ()), (replace(TWICE, scenarios=lambda _: ()),)),
    ],
    ids=["the first", "the second", "another exercise", "another function", "none of the lab's"],
)
def test_checks_of_one_exercise_and_one_function_ask_alike(check: Check, alike: tuple[Check, ...]) -> None:
    """In the order of the lab."""
    assert [other.name for other in LAB.alike(check)] == [other.name for other in alike]


def test_what_is_asked_alike_has_one_name_and_one_question() -> None:
    """With the same numbers, under the name of the first; others draw their own."""
    asking = Asking(LAB, 5)
    assert [asking.name(check) for check in LAB.checks] == ["twice", "elsewhere", "twice", "apart"]
    assert asking.question(THRICE) is asking.question(TWICE)
    assert asking.scenarios(THRICE) == asking.scenarios(TWICE) == _both(Draw(5, "twice"))
    assert asking.scenarios(APART) != asking.scenarios(TWICE)
    assert asking.sizes(THRICE) == tuple(scenario.size for scenario in asking.scenarios(THRICE))


@pytest.mark.parametrize("name", ["result[0]", "result[1]"])
def test_it_is_looked_wherever_one_of_them_looks(name: str) -> None:
    """And nowhere that none of them does."""
    asking = Asking(LAB, 5)
    for check in (TWICE, THRICE):
        assert all(look.at(name) and not look.at("argument 0 is unchanged") for look in asking.looks(check))
    assert all(look.at("result[0]") and not look.at("result[1]") for look in asking.looks(APART))


@pytest.mark.parametrize(
    ("wrong", "passed"),
    [
        (lambda x: (2 * x, 3 * x), ["twice", "thrice"]),
        (lambda x: (2 * x, 0 * x), ["twice"]),
        (lambda x: (0 * x, 3 * x), ["thrice"]),
        (lambda x: (3 * x, 2 * x), []),
    ],
)
def test_each_is_judged_by_its_own_part(wrong: Any, passed: list[str]) -> None:
    """One fault costs one check."""
    judge = Judge(LAB, 5)
    traces = run(judge.scenarios(TWICE), {"f": wrong}, looks=judge.asking.looks(TWICE))
    assert [check.name for check in (TWICE, THRICE) if judge.verdict(check, traces).passed] == passed


def test_the_reference_runs_once_for_all_of_them() -> None:
    """As it is, in float64 it is the same."""
    counted: list[int] = []

    def counting(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counted.append(len(x))
        return f(x)

    judge = Judge(replace(LAB, reference={"f": counting}), 5)
    judge.expected(TWICE)
    before = len(counted)
    judge.expected(THRICE)
    assert len(counted) == before > 0


@pytest.mark.parametrize("lab", lab_names(find_course()))
def test_checks_of_a_lab_that_ask_alike_look_elsewhere(lab: str) -> None:
    """Two that ask the same of the same place would be one promise paid twice."""
    loaded = load_lab(find_course(), lab)
    for check in loaded.checks:
        others = [other.keys for other in loaded.alike(check) if other is not check]
        assert check.keys not in others, check.name
