"""The door into a kernel: text goes in, bytes come out, whatever student code prints."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest
import torch

from autograder.probe import serve
from autograder.trace import scenario
from autograder.trace.codec import dump_scenarios, load_traces
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
    [reply] = unpack(serve.answer(serve.request(dump_scenarios(SCENARIOS)), names), 1)
    traces = load_traces(reply)
    assert [trace.scenario for trace in traces] == [scenario.name for scenario in SCENARIOS]
    assert traces[0].observations[0].seen == {"v": 5}
    assert traces[1].observations[0].seen == {"result": 3}
    assert capsys.readouterr() == ("", "")
    assert set(names) == {"v", "f", "autograder"}


def test_several_checks_are_answered_in_their_order() -> None:
    """One reply for each."""
    first, second = ([scenario] for scenario in SCENARIOS)
    text = serve.request(dump_scenarios(first), dump_scenarios(second))
    replies = unpack(serve.answer(text, {"v": 5, "f": noisy}), 2)
    assert [load_traces(reply)[0].scenario for reply in replies] == [scenario.name for scenario in SCENARIOS]


def test_the_first_check_that_takes_too_long_is_the_last() -> None:
    """Whether the others are worth the time is the grader's to say."""

    class ScenarioTimeout(Exception):
        pass

    def late() -> None:
        raise ScenarioTimeout

    one, other = dump_scenarios([SCENARIOS[0]]), dump_scenarios([SCENARIOS[1]])
    assert len(unpack(serve.answer(serve.request(one, other, one), {"v": 5, "f": late}), 3)) == 2


def test_ready_says_so_and_seeds_what_draws_at_random() -> None:
    """An empty reply, once everything is loaded; the same numbers each time."""
    drawn = []
    for seed in ("5", "5", "6"):
        assert load_traces(serve.ready(seed, {})) == ()
        drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_was_foreseen_is_not_read_or_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the answer is the same as without."""
    asked = [Scenario("twice", (Call("f", (Recipe((2, 3), seed=1234567),)),))]
    text = serve.request(dump_scenarios(asked), dump_scenarios(SCENARIOS))
    names = {"f": lambda x=0: 2 * x, "v": 1}
    without = serve.answer(text, names)
    for kept in (serve._scenarios, scenario._drawn):
        kept.cache_clear()
    serve.foresee(text)
    missed = [kept.cache_info().misses for kept in (serve._scenarios, scenario._drawn)]
    assert missed == [2, 1]
    assert serve.answer(text, names) == without
    assert [kept.cache_info().misses for kept in (serve._scenarios, scenario._drawn)] == missed
