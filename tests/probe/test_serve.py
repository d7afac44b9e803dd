"""The door into a kernel: bytes go in, bytes come out, whatever student code prints."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest
import torch

from autograder.probe import serve
from autograder.probe.run import run
from autograder.trace import scenario
from autograder.trace.codec import dump_scenarios, dump_traces, load_scenarios, load_traces
from autograder.trace.network import Network
from autograder.trace.parcel import unpack
from autograder.trace.scenario import Call, Recipe, Scenario, Value

SCENARIOS = [Scenario("a 'quoted' name\n", (Value("v"),)), Scenario("é", (Call("f"),))]


def noisy() -> int:
    print("from the student")
    print("and to stderr", file=sys.stderr)
    return 3


def test_a_request_is_answered_with_traces(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the notebook's names; nothing is printed, and nothing is defined."""
    names: dict[str, Any] = {"v": 5, "f": noisy, "autograder": "mine"}
    [reply] = unpack(serve.answer(serve.request(serve.question(SCENARIOS)), names), 1)
    traces = load_traces(reply)
    assert [trace.scenario for trace in traces] == [scenario.name for scenario in SCENARIOS]
    assert traces[0].observations[0].seen == {"v": 5}
    assert traces[1].observations[0].seen == {"result": 3}
    assert capsys.readouterr() == ("", "")
    assert set(names) == {"v", "f", "autograder"}


def test_several_checks_are_answered_in_their_order() -> None:
    """One reply for each."""
    first, second = ([scenario] for scenario in SCENARIOS)
    asked = serve.request(serve.question(first), serve.question(second))
    replies = unpack(serve.answer(asked, {"v": 5, "f": noisy}), 2)
    assert [load_traces(reply)[0].scenario for reply in replies] == [scenario.name for scenario in SCENARIOS]


def test_the_first_check_that_takes_too_long_is_the_last() -> None:
    """Whether the others are worth the time is the grader's to say."""

    class ScenarioTimeout(Exception):
        pass

    def late() -> None:
        raise ScenarioTimeout

    one, other = serve.question([SCENARIOS[0]]), serve.question([SCENARIOS[1]])
    assert len(unpack(serve.answer(serve.request(one, other, one), {"v": 5, "f": late}), 3)) == 2


def test_ready_says_so_and_seeds_what_draws_at_random() -> None:
    """An empty reply, once everything is loaded; the same numbers each time."""
    drawn = []
    for seed in (b"5", b"5", b"6"):
        assert load_traces(serve.ready(seed, {})) == ()
        drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))
    assert drawn[0] == drawn[1] != drawn[2]


def test_numbers_that_the_grader_drew_are_not_drawn_again() -> None:
    """Of tensors, at any depth, and of models; the answer is the same as with numbers drawn here, and as the text form's."""
    given = Recipe((2, 3), seed=1234567)
    asked = [
        Scenario("twice", (Call("f", (given, {"deep": (given, Recipe((4,), seed=7654321))})),)),
        Scenario("a model", (Call("g", (Network((("linear", 3, 2), ("batch_norm", 2)), seed=77), given)),)),
    ]
    names = {"f": lambda x, more: x + more["deep"][1][0], "g": lambda model, x: model(x)}
    here = dump_traces(run(load_scenarios(dump_scenarios(asked)), names))
    question = serve.question(asked)
    scenario._drawn.cache_clear()
    [reply] = unpack(serve.answer(serve.request(question), names), 1)
    assert reply == here
    assert scenario._drawn.cache_info().misses == 0
    scenario._brought.clear()


def test_numbers_that_were_brought_are_copied() -> None:
    """A function that changes its argument in place changes no other scenario's."""
    given = Recipe((3,), seed=99)
    asked = [Scenario("once", (Call("f", (given,)),)), Scenario("again", (Call("f", (given,)),))]
    spoils = serve.answer(serve.request(serve.question(asked)), {"f": lambda x: x.clone().add_(x.mul_(0))})
    scenario._brought.clear()
    first, second = load_traces(unpack(spoils, 1)[0])
    numbers = [trace.observations[0].seen["result"].array.tolist() for trace in (first, second)]
    assert numbers[0] == numbers[1] == scenario.draw(given).tolist()
