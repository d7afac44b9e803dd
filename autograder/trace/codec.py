"""The wire forms: scenarios as JSON, traces as safetensors whose header carries the rest as JSON. No pickle anywhere.

Both sides validate: a reader believes neither sizes nor types. Whatever is wrong becomes one ProtocolError, since bytes from
the student's kernel are the student's to choose.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from autograder.errors import ProtocolError
from autograder.trace import scenario as scenarios
from autograder.trace.network import Maker, Network
from autograder.trace.scenario import Recipe, Scenario, Sizes
from autograder.trace.trace import Failure, Frame, Observation, Opaque, Seen, Tensor, Trace

MAX_BYTES = 32 << 20  # of one reply
MAX_HEADER = 4 << 20  # of its part that is not numbers: JSON of 32 MB could ask for a gigabyte of empty lists
MAX_TEXT = 2000  # characters of any one text in a trace
MAX_ENTRIES = 200  # addresses in one observation
MAX_BITS = 256  # of an integer
NUMPY_KINDS = "fiub"  # what a tensor in a trace may hold: floats, integers, booleans
OBJECTS: dict[str, Callable[..., object]] = {
    "Recipe": Recipe,
    "Network": Network,
    "Maker": Maker,
    "Sizes": Sizes,
}  # what an argument may be
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a terminal would obey them when a report is printed


# --- scenarios -------------------------------------------------------------------------------------------------------------


def dump_scenarios(given: Sequence[Scenario]) -> str:
    """Return the scenarios as JSON text."""
    return json.dumps([_plain(entry) for entry in given])


def load_scenarios(text: str) -> tuple[Scenario, ...]:
    """Return the scenarios that JSON text holds; ProtocolError when it holds something else."""
    try:
        return tuple(
            Scenario(
                entry["name"],
                tuple(_step(step) for step in entry["steps"]),
                tuple(entry.get("only", ("*",))),
                entry.get("own_dtype", False) is True,
            )
            for entry in json.loads(text)
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"These are not scenarios: {error}; given {text[:80]!r}; regenerate them.") from error


def _plain(given: object) -> object:
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        body = {
            f.name: _plain(getattr(given, f.name))
            for f in dataclasses.fields(given)
            if getattr(given, f.name) != f.default
        }
        return {"$": type(given).__name__, **body}
    if isinstance(given, tuple):
        return [_plain(part) for part in given]
    if isinstance(given, Mapping):
        return {key: _plain(part) for key, part in given.items()}
    return given


def _step(given: Any) -> scenarios.Step:
    fields = {key: _entry(part) for key, part in given.items() if key != "$"}
    return scenarios.STEPS[given["$"]](**fields)


def _entry(given: Any) -> Any:
    if isinstance(given, list):
        return tuple(_entry(part) for part in given)
    if isinstance(given, dict) and "$" in given:
        return OBJECTS[given["$"]](**{key: _entry(part) for key, part in given.items() if key != "$"})
    if isinstance(given, dict):
        return {key: _entry(part) for key, part in given.items()}
    return given


# --- traces ----------------------------------------------------------------------------------------------------------------


def dump_traces(given: Sequence[Trace]) -> bytes:
    """Return the traces as one safetensors file; texts and counts are cut to the caps of this module."""
    tensors: dict[str, np.ndarray[Any, Any]] = {}

    def seen(entry: Seen) -> object:
        if isinstance(entry, Tensor):
            key = f"t{len(tensors)}"
            tensors[key] = np.array(entry.array, order="C")
            return {"tensor": key, "dtype": entry.dtype}
        if isinstance(entry, Opaque):
            return {"opaque": entry.type[:MAX_TEXT]}
        if isinstance(entry, float) and not math.isfinite(entry):
            return {"float": repr(entry)}
        if isinstance(entry, int) and not isinstance(entry, bool) and entry.bit_length() > MAX_BITS:
            return {"opaque": f"int of more than {MAX_BITS} bits"}
        return entry[:MAX_TEXT] if isinstance(entry, str) else entry

    body = [
        {
            "scenario": trace.scenario[:MAX_TEXT],
            "observations": [
                {
                    "seen": {k[:MAX_TEXT]: seen(v) for k, v in list(o.seen.items())[:MAX_ENTRIES]},
                    "failure": None if o.failure is None else dataclasses.asdict(o.failure),
                }
                for o in trace.observations
            ],
            "operators": list(trace.operators),
            "autograd": trace.autograd,
            "inherits": list(trace.inherits),
        }
        for trace in given
    ]
    return safetensors.numpy.save(tensors, metadata={"traces": json.dumps(body)})


def load_traces(raw: bytes) -> tuple[Trace, ...]:
    """Return the traces that the bytes hold; ProtocolError when they are too large or anything else."""
    if len(raw) > MAX_BYTES:
        raise ProtocolError(f"The reply holds {len(raw)} bytes; at most {MAX_BYTES} are read.")
    length = int.from_bytes(raw[:8], "little")
    if length > MAX_HEADER:
        raise ProtocolError(f"The header of the reply holds {length} bytes; at most {MAX_HEADER} are read.")
    try:
        header = json.loads(raw[8 : 8 + length])
        tensors = safetensors.numpy.load(raw)
        return tuple(_trace(entry, tensors) for entry in json.loads(header["__metadata__"]["traces"]))
    except (
        *(ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError),
        safetensors.SafetensorError,
    ) as error:
        raise ProtocolError(f"The reply of the kernel is not a trace: {str(error)[:200]}.") from error


def _trace(given: Any, tensors: Mapping[str, np.ndarray[Any, Any]]) -> Trace:
    def seen(entry: Any) -> Seen:
        if not isinstance(entry, dict):
            if not (entry is None or isinstance(entry, bool | int | float | str)):
                raise ValueError(f"a {type(entry).__name__} stands for a value")
            if isinstance(entry, int) and entry.bit_length() > MAX_BITS:
                raise ValueError(f"an integer of {entry.bit_length()} bits")
            return _text(entry) if isinstance(entry, str) else entry
        if "tensor" in entry:
            array = tensors[entry["tensor"]]
            if array.dtype.kind not in NUMPY_KINDS:
                raise ValueError(f"a tensor of {array.dtype}")
            return Tensor(_text(entry["dtype"]), array)
        if "opaque" in entry:
            return Opaque(_text(entry["opaque"]))
        return float(_text(entry["float"]))

    observations = tuple(
        Observation(
            {_text(k): seen(v) for k, v in list(o["seen"].items())[:MAX_ENTRIES]},
            None if o["failure"] is None else _failure(o["failure"]),
        )
        for o in given["observations"][:MAX_ENTRIES]
    )
    return Trace(
        _text(given["scenario"]),
        observations,
        tuple(_text(name) for name in given["operators"][:MAX_ENTRIES]),
        given["autograd"] is True,
        tuple(_text(name) for name in given["inherits"][:MAX_ENTRIES]),
    )


def _failure(given: Any) -> Failure:
    frames = tuple(Frame(_text(f["function"]), int(f["line"]), _text(f["text"])) for f in given["frames"][:20])
    return Failure(_text(given["type"]), tuple(_text(b) for b in given["bases"][:40]), _text(given["message"]), frames)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"a {type(given).__name__} stands where text should")
    # Half a surrogate pair is legal JSON, but no file can be written with it.
    return CONTROLS.sub("", given[:MAX_TEXT]).encode("utf-8", "replace").decode()
