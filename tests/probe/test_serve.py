"""The door into a kernel: bytes go in, bytes come out, whatever student code prints."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from autograder.probe import serve
from autograder.probe.network import maker
from autograder.probe.run import run
from autograder.trace import scenario
from autograder.trace.codec import dump_scenarios, dump_traces, load_scenarios, load_traces
from autograder.trace.look import Look
from autograder.trace.network import Maker, Network
from autograder.trace.parcel import unpack
from autograder.trace.scenario import Call, Recipe, Scenario, Value, draw

MODEL = Network((("linear", 3, 2), ("block", ("batch_norm", 2), ("relu",))), seed=77)
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
        Scenario("a model", (Call("g", (MODEL, given)),)),
        Scenario("its gradients", (Call("h", (replace(MODEL, gradients=True, dtype="float32"),)),)),
        Scenario("a maker", (Call("k", (Maker(MODEL), (0, 5), given)),)),
    ]
    names = {
        "f": lambda x, more: x + more["deep"][1][0],
        "g": lambda model, x: model(x),
        "h": lambda model: [(p, p.grad) for p in model.parameters()],
        "k": lambda make, seeds, x: [make(seed)(x) for seed in seeds],
    }
    here = dump_traces(run(load_scenarios(dump_scenarios(asked)), names))
    question = serve.question(asked)
    scenario._drawn.cache_clear()
    [reply] = unpack(serve.answer(serve.request(question), names), 1)
    assert reply == here
    assert scenario._drawn.cache_info().misses == 0


@pytest.mark.parametrize(
    "given",
    [
        Recipe((2,), values=(0.0, -0.0)),
        Recipe((2,), values=(-0.0, 0.0)),
        Recipe((3,), dtype="int64", values=(0.0, 7.0, 2.0)),
        Recipe((2, 2), seed=1, dtype="float16"),
        Recipe((2, 2), seed=1, dtype="float32", layout="transposed"),
        Recipe((), seed=1),
        Recipe((0, 3), seed=1),
        Recipe((2, serve.MOST_SENT), seed=1),
    ],
    ids=str,
)
def test_each_number_arrives_as_it_was_drawn(given: Recipe) -> None:
    """In each width, zeros with their signs; what is large is drawn on arrival."""
    arrived: list[torch.Tensor] = []
    other = Recipe((2,), values=(0.0, 0.0))
    serve.answer(serve.request(serve.question([Scenario("s", (Call("f", (other, given)),))])), {"f": keeping(arrived)})
    here = draw(given)
    assert arrived[1].numpy().tobytes("C") == here.tobytes()
    assert arrived[1].dtype == torch.from_numpy(here).dtype
    assert tuple(arrived[1].shape) == given.shape


def keeping(arrived: list[torch.Tensor]) -> Any:
    """A function that keeps what it is given."""
    return lambda *given: arrived.extend(given)


def test_a_seed_that_nobody_foresaw_is_drawn() -> None:
    """A function may ask a maker for any."""
    asked = serve.question([Scenario("s", (Call("f", (Maker(MODEL), 3)),))])
    made: list[Any] = []
    serve.answer(serve.request(asked), {"f": lambda make, seed: made.extend([make(seed), make(seed + 1)])})
    for model, seed in zip(made, (3, 4), strict=True):
        due = maker(Maker(MODEL))(seed)
        assert all(
            torch.equal(a, b) for a, b in zip(model.state_dict().values(), due.state_dict().values(), strict=True)
        )


def test_what_is_read_is_what_is_told() -> None:
    """A question says for each scenario where somebody looks."""
    asked = [Scenario("one", (Value("v"),)), Scenario("other", (Value("v"),))]
    question = serve.question(asked, [Look(("v[0]",)), Look(("v[1]",))])
    [reply] = unpack(serve.answer(serve.request(question), {"v": [5, 6]}), 1)
    assert [trace.observations[0].seen for trace in load_traces(reply)] == [{"v[0]": 5}, {"v[1]": 6}]


def test_numbers_that_were_brought_are_copied() -> None:
    """A function that changes its argument in place changes no other scenario's."""
    given = Recipe((3,), seed=99)
    asked = [Scenario("once", (Call("f", (given,)),)), Scenario("again", (Call("f", (given,)),))]
    spoils = serve.answer(serve.request(serve.question(asked)), {"f": lambda x: x.clone().add_(x.mul_(0))})
    first, second = load_traces(unpack(spoils, 1)[0])
    numbers = [trace.observations[0].seen["result"].array.tolist() for trace in (first, second)]
    assert numbers[0] == numbers[1] == draw(given).tolist()
