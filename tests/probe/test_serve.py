"""The door into a kernel: text goes in, one display message of our own type comes out, whatever student code prints."""

from __future__ import annotations

import base64
import sys
from typing import Any

import IPython.display
import pytest

from autograder.probe import serve
from autograder.trace.codec import dump_scenarios, load_traces
from autograder.trace.parcel import unpack
from autograder.trace.scenario import Call, Scenario, Value

SCENARIOS = [Scenario("a 'quoted' name\n", (Value("v"),)), Scenario("é", (Call("f"),))]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was displayed."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(IPython.display, "publish_display_data", messages.append)
    return messages


def noisy() -> int:
    print("from the student")
    print("and to stderr", file=sys.stderr)
    return 3


def test_a_request_is_one_line_of_code_that_answers(
    shown: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Executed in a notebook it shows the traces of the notebook's names, and nothing else."""
    source = serve.request(dump_scenarios(SCENARIOS))
    assert "\n" not in source
    exec(source, {"v": 5, "f": noisy})
    assert [set(message) for message in shown] == [{serve.MIME}]
    [reply] = unpack(base64.b64decode(shown[0][serve.MIME]), 1)
    traces = load_traces(reply)
    assert [trace.scenario for trace in traces] == [scenario.name for scenario in SCENARIOS]
    assert traces[0].observations[0].seen == {"v": 5}
    assert traces[1].observations[0].seen == {"result": 3}
    assert capsys.readouterr() == ("", "")


def test_a_request_defines_nothing(shown: list[dict[str, Any]]) -> None:
    """The student's names stay the student's, also one called `autograder`."""
    names: dict[str, Any] = {"v": 5, "f": noisy, "autograder": "mine", "base64": None}
    exec(serve.request(dump_scenarios(SCENARIOS)), names)
    assert set(names) == {"v", "f", "autograder", "base64", "__builtins__"}
    assert len(shown) == 1


def test_several_checks_are_answered_in_their_order(shown: list[dict[str, Any]]) -> None:
    """One reply for each."""
    first, second = ([scenario] for scenario in SCENARIOS)
    exec(serve.request(dump_scenarios(first), dump_scenarios(second)), {"v": 5, "f": noisy})
    replies = unpack(base64.b64decode(shown[0][serve.MIME]), 2)
    assert [load_traces(reply)[0].scenario for reply in replies] == [scenario.name for scenario in SCENARIOS]


def test_the_first_check_that_takes_too_long_is_the_last(shown: list[dict[str, Any]]) -> None:
    """Whether the others are worth the time is the grader's to say."""

    class ScenarioTimeout(Exception):
        pass

    def late() -> None:
        raise ScenarioTimeout

    one, other = dump_scenarios([SCENARIOS[0]]), dump_scenarios([SCENARIOS[1]])
    exec(serve.request(one, other, one), {"v": 5, "f": late})
    assert len(unpack(base64.b64decode(shown[0][serve.MIME]), 3)) == 2


def test_ready_says_so(shown: list[dict[str, Any]]) -> None:
    """An empty reply, once everything is loaded."""
    exec(serve.get_ready(5), {})
    assert load_traces(base64.b64decode(shown[0][serve.MIME])) == ()
