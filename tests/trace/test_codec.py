"""What is written comes back; bytes that somebody else chose become a trace or one ProtocolError, whatever they are."""

from __future__ import annotations

import contextlib
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.errors import ProtocolError
from autograder.trace import codec
from autograder.trace.codec import dump_scenarios, dump_traces, load_scenarios, load_traces
from autograder.trace.network import Maker, Network
from autograder.trace.scenario import STEPS, Build, Call, Forward, Listed, Load, Recipe, Scenario, Sizes, Value
from autograder.trace.trace import Failure, Frame, Observation, Opaque, Tensor, Trace

# --- scenarios -------------------------------------------------------------------------------------------------------------

FLOATS = st.floats(allow_nan=False)
WORDS = st.text(max_size=8)
RECIPES = st.builds(
    Recipe,
    shape=st.lists(st.integers(0, 4), max_size=4).map(tuple),
    seed=st.integers(0, 2**64),
    loc=FLOATS,
    scale=FLOATS,
    dtype=st.sampled_from(["float16", "float32", "float64", "int64"]),
    layout=st.sampled_from(["contiguous", "transposed", "strided", "channels_last"]),
    positive=st.booleans(),
    through=st.sampled_from([None, "float32"]),
)
LAYERS = st.sampled_from([("linear", 2, 3), ("batch_norm", 3, 0.5), ("relu",), ("block", ("tanh",), ("layer_norm", 2))])
NETWORKS = st.builds(
    Network,
    layers=st.lists(LAYERS, max_size=3).map(tuple),
    seed=st.integers(0, 2**40),
    dtype=st.sampled_from(["float32", "float64"]),
    training=st.booleans(),
    changes=st.booleans(),
    gradients=st.booleans(),
)
SIZES = st.builds(
    Sizes, kind=st.sampled_from(["list", "Size", "range"]), of=st.lists(st.integers(0, 9), max_size=3).map(tuple)
)
KEYS = WORDS.filter(lambda word: word != "$")
ARGUMENTS = st.recursive(
    st.one_of(
        *(RECIPES, NETWORKS, st.builds(Maker, network=NETWORKS), SIZES),
        *(st.none(), st.booleans(), st.integers(), FLOATS, WORDS),
    ),
    lambda inner: st.one_of(
        *(st.lists(inner, max_size=3).map(kind) for kind in (tuple, Listed)), st.dictionaries(KEYS, inner, max_size=2)
    ),
    max_leaves=4,
)
NAMED = st.dictionaries(KEYS, ARGUMENTS, max_size=3)
FIELDS: dict[str, Any] = {
    "target": WORDS,
    "args": st.lists(ARGUMENTS, max_size=3).map(tuple),
    "kwargs": NAMED,
    "state": st.dictionaries(KEYS, RECIPES, max_size=3),
    "names": st.lists(WORDS, max_size=3).map(tuple),
    "x": RECIPES,
    "training": st.booleans(),
    "name": WORDS,
    "value": FLOATS,
}


def step_of(name: str) -> st.SearchStrategy[Any]:
    """Steps of one kind, every field drawn."""
    known: dict[str, Any] = dict(FIELDS)
    known |= {"dtype": st.sampled_from(["float32", "float64"]), "grad": RECIPES}
    known |= dict.fromkeys(
        ("attribute", "fill", "copy", "grad_enabled", "x_requires_grad", "later", "child", "at_first_call"),
        st.booleans(),
    )
    return st.builds(STEPS[name], **{key: known[key] for key in STEPS[name].__dataclass_fields__})


SCENARIOS = st.builds(
    Scenario,
    name=WORDS,
    steps=st.lists(st.one_of(*(step_of(name) for name in STEPS)), max_size=4).map(tuple),
    only=st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    own_dtype=st.booleans(),
)


@given(st.lists(SCENARIOS, max_size=3).map(tuple))
@settings(max_examples=150)
def test_scenarios_come_back(scenarios: tuple[Scenario, ...]) -> None:
    """Every kind of step, every field, tuples as tuples."""
    assert load_scenarios(dump_scenarios(scenarios)) == scenarios


@pytest.mark.parametrize("step", [Build("M"), Forward(Recipe((2,))), Call("f"), Load({}), Value("v")])
def test_a_field_left_out_is_its_default(step: Any) -> None:
    """So a practice file stays small and survives a new field."""
    assert load_scenarios(dump_scenarios([Scenario("s", (step,))])) == (Scenario("s", (step,)),)
    assert "layout" not in dump_scenarios([Scenario("s", (step,))])


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "3", "{}", '"text"', "[1]", "[{}]", "[[]]", "{", "[" * 100_000,
        '[{"name": "a"}]',
        '[{"name": "a", "steps": 3}]',
        '[{"name": "a", "steps": ["text"]}]',
        '[{"name": "a", "steps": [{"target": "f"}]}]',
        '[{"name": "a", "steps": [{"$": "System", "target": "f"}]}]',
        '[{"name": "a", "steps": [{"$": "Call"}]}]',
        '[{"name": "a", "steps": [{"$": "Call", "target": "f", "and": 1}]}]',
        '[{"name": "a", "steps": [{"$": "Forward", "x": {"$": "Recipe"}}]}]',
        '[{"name": "a", "steps": [{"$": "Forward", "x": {"$": "Recipe", "shape": [9999999]}}]}]',
        '[{"name": "a", "steps": [{"$": "Forward", "x": {"$": "Recipe", "shape": "ab"}}]}]',
    ],
)  # fmt: skip
def test_anything_else_is_no_scenario(text: str) -> None:
    """One sentence, and the beginning of what was given."""
    if text == "{}":  # an empty mapping holds no scenario, as an empty list
        assert load_scenarios(text) == ()
        return
    with pytest.raises(ProtocolError, match="These are not scenarios: "):
        load_scenarios(text)


# --- traces ----------------------------------------------------------------------------------------------------------------

ODD = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-320, 3.5]


def one(**seen: Any) -> Trace:
    """A trace with one observation."""
    return Trace("a scenario", (Observation(seen),))


def same(a: Trace, b: Trace) -> bool:
    """Equal, where a nan equals a nan and tensors are compared bit by bit."""

    def plain(entry: Any) -> Any:
        if isinstance(entry, Tensor):
            return entry.dtype, entry.array.dtype.str, entry.array.shape, entry.array.tobytes()
        return (type(entry).__name__, repr(entry))

    def all_of(trace: Trace) -> Any:
        seen = [({k: plain(v) for k, v in o.seen.items()}, o.failure) for o in trace.observations]
        return trace.scenario, seen, trace.operators, trace.autograd, trace.inherits

    return bool(all_of(a) == all_of(b))


@pytest.mark.parametrize(
    "array",
    [
        np.array(ODD), np.array(ODD, np.float32), np.array(ODD, np.float16), np.array(3.5), np.zeros((0, 3)),
        np.zeros((2, 0, 4), np.int64), np.array([True, False]), np.array([-(2**63), 2**63 - 1]), np.array(7, np.uint8),
        np.arange(6.0).reshape(2, 3).T, np.arange(8.0)[::2],
    ],
)  # fmt: skip
def test_a_tensor_comes_back_bit_by_bit(array: Any) -> None:
    """Not a number, infinities, no axes, no elements, integers, booleans, strided memory."""
    trace = one(y=Tensor("whatever", array), z=Tensor("bfloat16", np.ones(2, np.float32)))
    back = load_traces(dump_traces([trace]))[0]
    assert same(back, trace)


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)
TENSORS = st.builds(
    lambda dtype, shape, seed: Tensor(dtype, np.random.default_rng(seed).normal(size=shape).astype(dtype)),
    st.sampled_from(["float16", "float32", "float64", "int64", "bool"]),
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(0, 99),
)
SEEN = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**200), 2**200), st.floats(), TEXTS, TENSORS, st.builds(Opaque, TEXTS)
)
FAILURES = st.builds(
    Failure,
    TEXTS,
    st.lists(TEXTS, max_size=3).map(tuple),
    TEXTS,
    st.lists(st.builds(Frame, TEXTS, st.integers(0, 999), TEXTS), max_size=3).map(tuple),
)
TRACES = st.builds(
    Trace,
    TEXTS,
    st.lists(st.builds(Observation, st.dictionaries(TEXTS, SEEN, max_size=4), st.none() | FAILURES), max_size=3).map(
        tuple
    ),
    st.lists(TEXTS, max_size=3).map(tuple),
    st.booleans(),
    st.lists(TEXTS, max_size=3).map(tuple),
)


@given(st.lists(TRACES, max_size=3))
@settings(max_examples=150)
def test_traces_come_back(traces: list[Trace]) -> None:
    """Whatever was seen, whatever failed, all evidence."""
    back = load_traces(dump_traces(traces))
    assert len(back) == len(traces)
    assert all(same(a, b) for a, b in zip(back, traces, strict=True))


def test_what_is_too_much_is_cut_before_it_is_sent() -> None:
    """A student's long message costs its end, not the check."""
    trace = Trace("s", (Observation({"y": "x" * 5000, "n": 10**400}, Failure("E", (), "m" * 5000)),))
    back = load_traces(dump_traces([trace]))[0].observations[0]
    assert back.seen == {"y": "x" * codec.MAX_TEXT, "n": Opaque("int of more than 256 bits")}
    assert back.failure is not None
    assert len(back.failure.message) == codec.MAX_TEXT
    many = one(**{f"a{i}": i for i in range(500)})
    assert len(load_traces(dump_traces([many]))[0].observations[0].seen) == codec.MAX_ENTRIES


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("red \x1b[31mtext", "red [31mtext"),
        ("\x9b31m\x00\x07bell", "31mbell"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("half a pair \ud800", "half a pair ?"),
    ],
)
def test_a_text_can_be_printed_and_written(sent: str, kept: str) -> None:
    """It ends in a report on disk and on a person's terminal."""
    given = Trace("s", (Observation({"y": sent}, Failure("E", (), sent)),))
    back = load_traces(dump_traces([given]))[0].observations[0]
    assert back.seen["y"] == kept
    assert back.failure is not None
    assert back.failure.message == kept


# --- hostile bytes ---------------------------------------------------------------------------------------------------------

GOOD = dump_traces([one(y=Tensor("float64", np.arange(4.0)), n=3)])


def forged(body: object, **tensors: Any) -> bytes:
    """A safetensors file whose traces are any JSON at all."""
    text = body if isinstance(body, str) else json.dumps(body)
    return safetensors.numpy.save(tensors, metadata={"traces": text})


def entry(**changed: object) -> dict[str, object]:
    """The JSON of one trace, with something changed; a `...` takes a key away."""
    observation = {"seen": {"y": 1.0}, "failure": None}
    body = {"scenario": "s", "observations": [observation], "operators": [], "autograd": False, "inherits": []}
    return {key: value for key, value in (body | changed).items() if value is not ...}


def raw_header(header: str, length: int | None = None, rest: bytes = b"") -> bytes:
    """Bytes that begin as a safetensors file does."""
    text = header.encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + rest


def seen(value: object) -> list[dict[str, object]]:
    """One forged trace that shows a value."""
    return [entry(observations=[{"seen": {"y": value}, "failure": None}])]


def failed(**failure: object) -> list[dict[str, object]]:
    """One forged trace with a failure."""
    whole = {"type": "E", "bases": [], "message": "m", "frames": []} | failure
    return [entry(observations=[{"seen": {}, "failure": whole}])]


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "seven bytes": b"\x01" * 7,
    "a pickle": pickle.dumps([one(y=1)]),
    "a pickle as metadata": raw_header('{"__metadata__": {"traces": "gASVBQ=="}}'),
    "cut in the header": GOOD[:40],
    "cut in the numbers": GOOD[:-9],
    "something behind": GOOD + b"x",
    "a header of 2^64 bytes": b"\xff" * 64,
    "a long header": raw_header(" " * (codec.MAX_HEADER + 1)),
    "a header longer than the file": raw_header("{}", 4000),
    "not UTF-8": raw_header("{}", 4) + b"\xff\xfe\xfd\xfc",
    "no JSON": raw_header("nope"),
    "a list for a header": raw_header("[]"),
    "no metadata": safetensors.numpy.save({"t0": np.ones(2)}),
    "no traces": safetensors.numpy.save({}, metadata={"other": "[]"}),
    "traces that are no text": raw_header('{"__metadata__": {"traces": []}}'),
    "deep JSON": forged("[" * 100_000),
    "deep JSON in the header": raw_header("[" * 100_000),
    "a huge integer": forged("[" + "9" * 5000 + "]"),
    "a null": forged("null"),
    "a number": forged("3"),
    "a trace that is a list": forged([[]]),
    **{f"no {key}": forged([entry(**{key: ...})]) for key in ("scenario", "observations")},
    "no seen": forged([entry(observations=[{"failure": None}])]),
    "operators that are a number": forged([entry(operators=3)]),
    "inherits that is a dictionary": forged([entry(inherits={"0": "BatchNorm1d"})]),
    "observations that are a number": forged([entry(observations=3)]),
    "observations that are text": forged([entry(observations="text")]),
    "seen that is a list": forged([entry(observations=[{"seen": [], "failure": None}])]),
    "a name that is a number": forged([entry(scenario=3)]),
    "operators that are numbers": forged([entry(operators=[1, 2])]),
    "inherits that is null": forged([entry(inherits=None)]),
    "a value that is a list": forged(seen([1, 2])),
    "a value of an unknown kind": forged(seen({"pickle": "gASV"})),
    "a float that is none": forged(seen({"float": "nope"})),
    "a float that is a list": forged(seen({"float": []})),
    "an integer of 1000 bits": forged(seen(2**1000)),
    **{
        f"a stretch {name}{form}": forged(seen(value), a=np.ones(6))
        for name, stretch in {
            "that begins before the array": {"at": -1, "shape": [1]},
            "that begins at a half": {"at": 0.5, "shape": [1]},
            "that begins at true": {"at": True, "shape": [1]},
            "without a shape": {"at": 0},
            "whose shape is a number": {"at": 0, "shape": 3},
            "of a negative length": {"at": 0, "shape": [-1]},
            "of two negative lengths": {"at": 0, "shape": [-2, -3]},
            "that ends behind the array": {"at": 4, "shape": [3]},
            "that begins behind the array": {"at": 2**24, "shape": [1]},
            "of a length of 2^64": {"at": 0, "shape": [2**64]},
            "of 2^24 by 2^24 by 0": {"at": 0, "shape": [2**24, 2**24, 2**24, 0]},
            "of 100 axes": {"at": 0, "shape": [1] * 100},
            "of text": {"at": 0, "shape": ["1"]},
        }.items()
        for form, value in (
            ("", ["a", *stretch.values(), "d"]),
            (", as in older files", {"tensor": "a", "dtype": "d"} | stretch),
        )
    },
    "a stretch of five parts": forged(seen(["a", 0, [1], "d", "e"]), a=np.ones(6)),
    "a stretch of an array without a name": forged(seen([0, 0, [1]]), a=np.ones(6)),
    "a stretch of an array that is not there": forged(seen(["b", 0, [1]]), a=np.ones(6)),
    "a stretch whose dtype is a number": forged(seen(["a", 0, [1], 3]), a=np.ones(6)),
    "a stretch of a single number": forged(seen({"tensor": "a", "at": 0, "shape": [1], "dtype": "d"}), a=np.ones(())),
    "a tensor that is not there": forged(seen({"tensor": "t9", "dtype": "float32"})),
    "a tensor named by a list": forged(seen({"tensor": [], "dtype": "float32"}), t0=np.ones(2)),
    "a tensor without a dtype": forged(seen({"tensor": "t0"}), t0=np.ones(2)),
    "a dtype that is a number": forged(seen({"tensor": "t0", "dtype": 3}), t0=np.ones(2)),
    "complex numbers": forged(seen({"tensor": "t0", "dtype": "c"}), t0=np.ones(2, np.complex64)),
    "an unknown dtype": raw_header('{"t0":{"dtype":"F128","shape":[0],"data_offsets":[0,0]}}'),
    "a shape of 2^64": raw_header(
        '{"__metadata__":{"traces":"[]"},"t0":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0]}}'
    ),
    "a shape of 100 axes": raw_header(
        f'{{"__metadata__":{{"traces":"[]"}},"t0":{{"dtype":"F32","shape":{[1] * 100},"data_offsets":[0,4]}}}}',
        rest=b"abcd",
    ),
    "tensors on top of one another": raw_header(
        '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
        rest=b"abcd",
    ),
    "a failure without a message": forged(failed(message=None)),
    "a line of infinity": forged(failed(frames=[{"function": "f", "line": math.inf, "text": "t"}])),
    "a line of nan": forged(failed(frames=[{"function": "f", "line": math.nan, "text": "t"}])),
    "a line that is text": forged(failed(frames=[{"function": "f", "line": "x", "text": "t"}])),
    "frames that are text": forged(failed(frames="text")),
    "bases that are a number": forged(failed(bases=3)),
}  # fmt: skip


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_are_a_protocol_error(raw: bytes) -> None:
    """And nothing else: any other exception would end the grading of a class."""
    with pytest.raises(ProtocolError):
        load_traces(raw)


def test_what_is_not_said_of_a_trace_was_not_seen() -> None:
    """No operators, no autograd, no classes, no failure: as a rule there are none, and nothing is sent."""
    back = load_traces(forged([{"scenario": "a scenario", "observations": [{"seen": {"n": 3}}]}]))
    assert (
        back
        == load_traces(forged([entry(scenario="a scenario", observations=[{"seen": {"n": 3}, "failure": None}])]))
        == (one(n=3),)
    )


def test_a_whole_array_is_a_tensor_too() -> None:
    """As older practice files have it."""
    back = load_traces(forged(seen({"tensor": "t0", "dtype": "float32"}), t0=np.ones((2, 3), np.float32)))
    assert same(back[0], Trace("s", one(y=Tensor("float32", np.ones((2, 3), np.float32))).observations))


def test_a_reply_with_the_words_of_another_has_its_own_numbers() -> None:
    """A class sends the same words again and again; they are read once."""
    first, second = (one(y=Tensor("float64", np.full(3, n)), z=Tensor("int64", np.array(n)), n=3) for n in (1.0, 2.0))
    for _ in range(2):
        for trace in (first, second):
            back = load_traces(dump_traces([trace, trace]))
            assert all(same(given, trace) for given in back)


def test_too_many_bytes_are_not_even_looked_at() -> None:
    """The caps come first: of all bytes, and of those that are no numbers."""
    with pytest.raises(ProtocolError, match=f"holds {codec.MAX_BYTES + 1} bytes; at most"):
        load_traces(b"\0" * (codec.MAX_BYTES + 1))
    lists = json.dumps([[]] * 1_100_000)  # 4.4 MB that would become a hundred
    with pytest.raises(ProtocolError, match="The header of the reply holds"):
        load_traces(forged(lists))


def only_protocol_errors(raw: bytes) -> None:
    """Load; whatever is no trace must say so in our own words."""
    with contextlib.suppress(ProtocolError):
        assert all(isinstance(trace, Trace) for trace in load_traces(raw))


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_any_bytes_are_a_trace_or_a_protocol_error(raw: bytes) -> None:
    """Noise."""
    only_protocol_errors(raw)


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_any_header_is_a_trace_or_a_protocol_error(header: bytes, rest: bytes) -> None:
    """Noise with an honest length in front."""
    only_protocol_errors(len(header).to_bytes(8, "little") + header + rest)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(list(entry())), JSON)
@settings(max_examples=200)
def test_any_json_in_any_place_is_a_trace_or_a_protocol_error(key: str, value: object) -> None:
    """One field of an honest trace is anything at all."""
    only_protocol_errors(forged([entry(**{key: value})], t0=np.ones(2)))


@given(st.sampled_from(["value", "seen", "failure", "frames", "bases", "message", "line"]), JSON)
@settings(max_examples=200)
def test_any_json_inside_an_observation_is_a_trace_or_a_protocol_error(place: str, value: object) -> None:
    """The same one level further in."""
    frame = {"function": "f", "line": value, "text": "t"}
    bodies: dict[str, object] = {
        "value": seen(value),
        "seen": [entry(observations=[{"seen": value, "failure": None}])],
        "failure": [entry(observations=[{"seen": {}, "failure": value}])],
        "line": failed(frames=[frame]),
    }
    only_protocol_errors(forged(bodies.get(place) or failed(**{place: value})))


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
@settings(max_examples=300)
def test_one_changed_byte_is_a_trace_or_a_protocol_error(place: int, byte: int) -> None:
    """Everything near an honest reply."""
    only_protocol_errors(GOOD[:place] + bytes([byte]) + GOOD[place + 1 :])
