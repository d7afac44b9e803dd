"""The judge turns traces into verdicts: the same for one seed, never against a broken reference, never giving away a secret."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from autograder.checks.check import Check, Draw, Lab
from autograder.errors import CourseError
from autograder.grading.judge import Judge, namespace
from autograder.grading.report import CheckResult
from autograder.probe.run import Runs, run
from autograder.probe.serve import answer, request
from autograder.trace.codec import dump_traces, load_traces
from autograder.trace.parcel import unpack
from autograder.trace.scenario import Build, Call, Forward, Recipe, Scenario, Value
from autograder.trace.trace import Observation, Opaque, Tensor, Trace
from solutions.lab01_batch_norm.checks import LAB as LAB_1


def _calls(draw: Draw) -> tuple[Scenario, ...]:
    return tuple(Scenario(f"{n} numbers", (Call("f", (draw.tensor(n, loc=2.0),)),)) for n in (4, 2, 3))


def _refused(draw: Draw) -> tuple[Scenario, ...]:
    return (Scenario("nothing", (Call("f", (Recipe((0,)),)),)),)


def _guess(draw: Draw) -> tuple[Scenario, ...]:
    return (Scenario("the prediction", (Value("guess"),)),)


def _layer(draw: Draw) -> tuple[Scenario, ...]:
    return (Scenario("a layer", (Build("L", (2,)), Forward(Recipe((3, 2), dtype="float32")))),)


def f(x: torch.Tensor) -> torch.Tensor:
    """The reference."""
    if len(x) == 0:
        raise ValueError("nothing")
    return x * 2


VALUES = Check("values", "f", 2, "twice", _calls, ("result",), autograd=False)
REFUSES = Check("refuses", "f", 1, "a ValueError", _refused, ())
GUESS = Check("guess", "guess", 1, "a guess", _guess, contract=False, tolerance=0.006, secret=True)
LAYER = Check("layer", "L", 1, "a layer", _layer, ("y",))
LAB = Lab("lab", "A lab", ("f",), (VALUES, REFUSES, GUESS, LAYER), {"f": f, "guess": 1.25, "L": torch.nn.Identity})


def verdict(check: Check, seed: int = 3, **names: Any) -> CheckResult:
    """The verdict on some names."""
    judge = Judge(LAB, seed)
    return judge.verdict(check, run(judge.scenarios(check), names))


def test_a_right_answer_passes() -> None:
    """With all points and no code."""
    assert verdict(VALUES, f=f) == CheckResult("values", "f", "twice", 2, 2, True, "passed")
    assert verdict(REFUSES, f=f).passed


def test_a_wrong_answer_fails_with_its_smallest_scenario() -> None:
    """Told in one line and written as code; how many others fail is said."""
    found = verdict(VALUES, f=lambda x: x * 3)
    assert (found.points, found.max_points, found.passed) == (0, 2, False)
    assert found.message.startswith("2 numbers: result[")
    assert found.message.endswith("(3 of 3 scenarios differ; this is the smallest)")
    assert found.code is not None
    assert "result = f(" in found.code


@pytest.mark.parametrize(
    ("traces", "words"),
    [
        (None, "the kernel died"),
        ([], "the kernel died"),
        ([Trace("2 numbers", ())], "the kernel died"),
        ([Trace("s", ())] * 9, "the kernel died"),
        ([Trace("s", ())] * 3, "the run ended before this step"),
        ([Trace("s", (Observation({}),))] * 3, "result is missing"),
        ([Trace("s", (Observation({"result": Tensor("float64", np.zeros(10**6))}),))] * 3, "should have shape"),
    ],
)
def test_traces_that_are_not_what_was_asked_for_fail(traces: Any, words: str) -> None:
    """A forged reply is at best a wrong answer."""
    found = Judge(LAB, 3).verdict(VALUES, traces, "the kernel died")
    assert not found.passed
    assert words in found.message


@pytest.mark.parametrize(
    ("check", "names", "words", "evidence"),
    [
        (LAYER, {"L": torch.nn.BatchNorm1d}, "derives from torch.nn.BatchNorm1d", "torch.nn.BatchNorm1d"),
        (VALUES, {"f": lambda x: torch.layer_norm(x, (len(x),))}, "f calls layer_norm", "layer_norm"),
        (VALUES, {"f": lambda x: torch.autograd.functional.jacobian(torch.sin, x)}, "runs torch's autograd", "autograd"),
    ],
)  # fmt: skip
def test_an_offence_costs_the_check_whatever_the_numbers(check: Check, names: Any, words: str, evidence: str) -> None:
    """With the reason and the evidence; no numbers are shown."""
    found = verdict(check, **names)
    assert not found.passed
    assert words in found.message
    assert evidence in found.evidence
    assert found.code is None


@pytest.mark.parametrize(
    "given",
    [
        1.5, -7, 0, float("nan"), float("inf"), True, None, "1.2", [1.2], (1.0, 2.0), {"a": 1}, torch.tensor(7.0),
        torch.tensor([1.0, 2.0]), torch.nn.Linear, Opaque, 10**400, np.float64(3.0), np.ones(3),
    ],
    ids=lambda given: repr(given)[:20],
)  # fmt: skip
def test_a_secret_is_not_given_away(given: Any) -> None:
    """Whatever stands in the answer's place, the verdict does not hold the number."""
    found = verdict(GUESS, guess=given)
    assert not found.passed
    assert "1.25" not in found.message
    assert "1.25" not in str(found.code)
    assert found.message.startswith("the prediction: guess ")


def test_a_prediction_that_was_not_made_is_asked_for() -> None:
    """It is the one thing that is told."""
    assert "guess is not defined" in verdict(GUESS).message


@pytest.mark.parametrize(("given", "passed"), [(1.25, True), (1.255, True), (1.26, False), (torch.tensor(1.25), True)])
def test_a_prediction_is_judged_to_two_decimals(given: Any, passed: bool) -> None:
    """As the check says."""
    assert verdict(GUESS, guess=given).passed is passed


def test_nobody_is_graded_against_a_broken_reference() -> None:
    """Whatever students handed in: it is our fault, and it is named."""

    def broken(x: torch.Tensor) -> torch.Tensor:
        raise TypeError("oh")

    judge = Judge(replace(LAB, reference={"f": broken}), 1)
    with pytest.raises(CourseError, match="The reference fails in values, 4 numbers: TypeError: oh"):
        judge.verdict(VALUES, run(judge.scenarios(VALUES), {"f": f}))
    with pytest.raises(CourseError, match="NameError"):
        Judge(replace(LAB, reference={}), 1).expected(VALUES)


def test_the_reference_is_run_in_each_dtype_once() -> None:
    """A scenario that is in float64 anyway is its own truth; one in float32 is its own rough run."""
    ran: list[torch.dtype] = []

    def noted(x: torch.Tensor) -> torch.Tensor:
        ran.append(x.dtype)
        return x * 2

    def asked(draw: Draw) -> tuple[Scenario, ...]:
        return tuple(Scenario(dtype, (Call("f", (draw.tensor(3, dtype=dtype),)),)) for dtype in ("float64", "float32"))

    judge = Judge(replace(LAB, reference={"f": noted}), 1)
    found = judge.expected(replace(VALUES, scenarios=asked))
    assert ran == [torch.float64, torch.float32, torch.float64, torch.float32]
    shown = [[run.observations[0].seen["result"] for run in (entry.trace, entry.truth)] for entry in found]
    assert [[result.dtype for result in pair] for pair in shown] == [["float64", "float64"], ["float32", "float64"]]  # type: ignore[union-attr]


def test_a_kernel_is_asked_what_the_reference_was_asked() -> None:
    """With the same numbers; the bytes are made once for a class."""
    judge = Judge(LAB, 3)
    [reply] = unpack(answer(request(judge.asking.question(VALUES)), {"f": f}), 1)
    shown = [trace.observations[0].seen["result"] for trace in load_traces(reply)]
    due = [expected.trace.observations[0].seen["result"] for expected in judge.expected(VALUES)]
    assert [number.array.tolist() for number in shown] == [number.array.tolist() for number in due]  # type: ignore[union-attr]
    assert judge.asking.question(VALUES) is judge.asking.question(VALUES)


def test_the_same_seed_gives_the_same_verdicts() -> None:
    """In another judge, in another order."""
    names = {"f": lambda x: x * 3}
    assert verdict(VALUES, 3, **names) == verdict(VALUES, 3, **names)
    first, second = Judge(LAB, 8), Judge(LAB, 8)
    first.scenarios(REFUSES)
    assert first.scenarios(VALUES) == second.scenarios(VALUES)


def test_another_seed_draws_other_scenarios() -> None:
    """The public ones of practice are no help."""
    assert Judge(LAB, 3).scenarios(VALUES) != Judge(LAB, 4).scenarios(VALUES)
    changed = [c.name for c in LAB_1.checks if Judge(LAB_1, 1).scenarios(c) == Judge(LAB_1, 2).scenarios(c)]
    assert changed == ["predict-output", "predict-running-mean", "predict-running-var"]


def test_the_reference_passes_its_own_checks() -> None:
    """Those of lab 1, all of them."""
    judge = Judge(LAB_1, 11)
    for check in LAB_1.checks:
        assert judge.verdict(check, run(judge.scenarios(check), LAB_1.reference)).passed, check.name


def test_a_mistake_is_run_once() -> None:
    """A class makes the same ones again and again."""
    judge, mistake = Judge(LAB_1, 1), LAB_1.mistakes[0]
    check = LAB_1.check(mistake.check)
    assert judge.mistaken(mistake, check, 0) is judge.mistaken(mistake, check, 0)


def test_mistakes_that_are_run_in_one_go_show_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one block of the probe's, which is begun when the first one is run, and ended with the switches as they were."""
    begun: list[str] = []
    begin = Runs.__enter__

    def entered(runs: Runs) -> Runs:
        begun.append("a block")
        return begin(runs)

    monkeypatch.setattr(Runs, "__enter__", entered)
    asked = [(mistake, LAB_1.check(mistake.check)) for mistake in LAB_1.mistakes[::40]]
    alone, together = Judge(LAB_1, 1), Judge(LAB_1, 1)
    for _, check in asked:  # what the reference shows is run in blocks of its own
        alone.expected(check), together.expected(check)
    begun.clear()
    traces = [alone.mistaken(mistake, check, 0) for mistake, check in asked]
    assert len(begun) == len(asked)
    begun.clear()
    handler, dtype = signal.getsignal(signal.SIGPROF), torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with together.in_one_go():
            assert not begun, "nothing is run yet"
            found = [together.mistaken(mistake, check, 0) for mistake, check in asked]
            assert torch.get_default_dtype() is torch.float32
        assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(dtype)
    assert (begun, signal.getsignal(signal.SIGPROF)) == (["a block"], handler)
    assert dump_traces(found) == dump_traces(traces)
    together.mistaken(*asked[0], 1)
    assert len(begun) == 2, "the next one is by itself again"


@pytest.mark.parametrize("source", ["1 / 0", "def f(:", "raise SystemError"])
def test_our_own_source_that_does_not_run_is_our_fault(source: str) -> None:
    """And says which it is."""
    with pytest.raises(CourseError, match="The source of 'some-mistake' does not run"):
        namespace(source, "some-mistake")
