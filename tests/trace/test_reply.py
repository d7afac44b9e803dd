"""A reply is read when it comes and made into traces when somebody asks; nothing can be found wrong with it later."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.numpy

from autograder.errors import ProtocolError
from autograder.trace.codec import dump_traces, load_reply
from autograder.trace.trace import Failure, Observation, Tensor, Trace


def shown(*numbers: float, name: str = "s") -> Trace:
    """A trace of one step that shows some numbers."""
    return Trace(name, (Observation({"y": Tensor("float64", np.array(numbers))}),))


def test_a_trace_is_made_once() -> None:
    """Whoever asks again gets the same one; a reply is a sequence like any other."""
    reply = load_reply(dump_traces([shown(1.0), shown(2.0, name="t"), shown(3.0)]))
    assert len(reply) == 3
    assert reply[1] is reply[1] is reply[-2] is list(reply)[1]
    assert [trace.scenario for trace in reply[1:]] == ["t", "s"]
    with pytest.raises(IndexError):
        reply[3]


def test_replies_with_the_same_words_share_them_and_no_numbers() -> None:
    """The grader reads the words of a class once."""
    one, two, other = (load_reply(dump_traces([trace])) for trace in (shown(1.0), shown(2.0), shown(1.0, 2.0)))
    assert one.words is two.words is not other.words
    values = [reply[0].observations[0].seen["y"] for reply in (one, two)]
    assert [v.array.tolist() for v in values if isinstance(v, Tensor)] == [[1.0], [2.0]]


def test_a_reply_tells_whether_a_scenario_was_stopped() -> None:
    """Without making its traces."""
    late = Trace("s", (Observation({}, Failure("ScenarioTimeout", ("ScenarioTimeout",), "too long")),))
    assert load_reply(dump_traces([shown(1.0), late])).took_too_long
    assert not load_reply(dump_traces([shown(1.0)])).took_too_long


def test_known_words_with_other_bytes_behind_are_refused() -> None:
    """Numbers that are missing, or too many, show at once, although the words have been read before."""
    raw = dump_traces([shown(1.0, 2.0)])
    load_reply(raw)
    for bad in (raw[:-8], raw + b"\0" * 8):
        with pytest.raises(ProtocolError, match="not a trace"):
            load_reply(bad)


@pytest.mark.parametrize(("at", "shape"), [(0, [4]), (3, [1]), (0, [2, 2]), (2, [2])])
def test_a_tensor_beyond_the_numbers_is_refused_when_it_comes(at: int, shape: list[int]) -> None:
    """Not when a trace is made, where nobody would expect it."""
    body = [{"scenario": "s", "observations": [{"seen": {"y": ["a", at, shape, "float64"]}}]}]
    raw = safetensors.numpy.save({"a": np.arange(3.0)}, metadata={"traces": json.dumps(body)})
    with pytest.raises(ProtocolError):
        load_reply(raw)
