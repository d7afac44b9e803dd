"""The wire forms: scenarios as JSON, traces as safetensors whose header carries the rest as JSON. No pickle anywhere.

Both sides validate: a reader believes neither sizes nor types. Whatever is wrong becomes one ProtocolError, since bytes from
the student's kernel are the student's to choose.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
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
MAX_KEPT = 1 << 16  # of a header whose words are kept for the next reply
MAX_AXES = 32  # of a tensor
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
    if type(given) is dict:
        fields = {key: _entry(part) for key, part in given.items() if key != "$"}
        return OBJECTS[given["$"]](**fields) if "$" in given else fields
    return tuple(_entry(part) for part in given) if type(given) is list else given


# --- traces ----------------------------------------------------------------------------------------------------------------


def dump_traces(given: Sequence[Trace]) -> bytes:
    """Return the traces as one safetensors file; texts and counts are cut to the caps of this module.

    The file holds one array for each kind of number; a tensor of a trace is a stretch of it.
    """
    parts: dict[str, list[np.ndarray[Any, Any]]] = {}
    filled: dict[str, int] = {}

    def tensor(entry: Tensor) -> object:
        array, name = entry.array, _name(entry.array.dtype)
        at = filled.get(name, 0)
        parts.setdefault(name, []).append(array)
        filled[name] = at + array.size
        return {"tensor": name, "at": at, "shape": array.shape, "dtype": entry.dtype}

    def seen(entry: Seen) -> object:
        if isinstance(entry, str):
            return entry[:MAX_TEXT]
        if isinstance(entry, Tensor):
            return tensor(entry)
        if isinstance(entry, Opaque):
            return {"opaque": entry.type[:MAX_TEXT]}
        if isinstance(entry, float) and not math.isfinite(entry):
            return {"float": repr(entry)}
        if isinstance(entry, int) and not isinstance(entry, bool) and entry.bit_length() > MAX_BITS:
            return {"opaque": f"int of more than {MAX_BITS} bits"}
        return entry

    body = [
        {
            "scenario": trace.scenario[:MAX_TEXT],
            "observations": [
                {
                    "seen": {k[:MAX_TEXT]: seen(v) for k, v in itertools.islice(o.seen.items(), MAX_ENTRIES)},
                    "failure": None if o.failure is None else _failed(o.failure),
                }
                for o in trace.observations
            ],
            "operators": trace.operators,
            "autograd": trace.autograd,
            "inherits": trace.inherits,
        }
        for trace in given
    ]
    tensors = {name: np.concatenate([array.ravel() for array in arrays]) for name, arrays in parts.items()}
    return safetensors.numpy.save(tensors, metadata={"traces": json.dumps(body, separators=(",", ":"))})


@cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name  # numpy puts it together each time


def _failed(given: Failure) -> object:
    return {**vars(given), "frames": [vars(frame) for frame in given.frames]}


def load_traces(raw: bytes) -> tuple[Trace, ...]:
    """Return the traces that the bytes hold; ProtocolError when they are too large or anything else.

    Their arrays are views of the bytes, and what two replies have in common but for the numbers may be one object.
    """
    if len(raw) > MAX_BYTES:
        raise ProtocolError(f"The reply holds {len(raw)} bytes; at most {MAX_BYTES} are read.")
    length = int.from_bytes(raw[:8], "little")
    if length > MAX_HEADER:
        raise ProtocolError(f"The header of the reply holds {length} bytes; at most {MAX_HEADER} are read.")
    try:
        arrays = safetensors.numpy.load(raw)
        header = raw[8 : 8 + length]
        # A class sends the same words again and again, with other numbers.
        forms = _forms(header) if length <= MAX_KEPT else _forms.__wrapped__(header)
        return tuple(form.trace(arrays) for form in forms)
    except (
        *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError),
        safetensors.SafetensorError,
    ) as error:
        raise ProtocolError(f"The reply of the kernel is not a trace: {str(error)[:200]}.") from error


@dataclass(frozen=True)
class _Place:
    """Where the numbers of a tensor stand: a stretch of an array, or (`at` is None, in older files) the whole of it."""

    dtype: str
    array: str
    at: int | None
    shape: tuple[int, ...]
    size: int

    def tensor(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Tensor:
        array = arrays[self.array]
        if array.dtype.kind not in NUMPY_KINDS:
            raise ValueError(f"a tensor of {array.dtype}")
        if self.at is None:
            return Tensor(self.dtype, array)
        stretch = array[self.at : self.at + self.size]  # reshape asks whether it is all there
        return Tensor(self.dtype, stretch.reshape(self.shape))


@dataclass(frozen=True)
class _Form:
    """A trace without its numbers: for each step what was seen, and where the numbers of its tensors stand."""

    empty: Trace
    tensors: tuple[Mapping[str, _Place], ...]

    def trace(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Trace:
        steps = zip(self.empty.observations, self.tensors, strict=True)
        observations = tuple(
            Observation({**o.seen, **{a: place.tensor(arrays) for a, place in places.items()}}, o.failure)
            if places
            else o
            for o, places in steps
        )
        t = self.empty
        return Trace(t.scenario, observations, t.operators, t.autograd, t.inherits)


@lru_cache(maxsize=128)
def _forms(header: bytes) -> tuple[_Form, ...]:
    return tuple(_form(entry) for entry in json.loads(json.loads(header)["__metadata__"]["traces"]))


def _form(given: Any) -> _Form:
    observations, tensors = [], []
    for observation in given["observations"][:MAX_ENTRIES]:
        seen: dict[str, Seen] = {}
        places: dict[str, _Place] = {}
        for address, entry in itertools.islice(observation["seen"].items(), MAX_ENTRIES):
            address = _text(address)
            if isinstance(entry, dict) and "tensor" in entry:
                places[address], seen[address] = _place(entry), None
            else:
                seen[address] = _seen(entry)
                places.pop(address, None)
        failure = None if observation["failure"] is None else _failure(observation["failure"])
        observations.append(Observation(seen, failure))
        tensors.append(places)
    trace = Trace(
        _text(given["scenario"]),
        tuple(observations),
        tuple(_text(name) for name in given["operators"][:MAX_ENTRIES]),
        given["autograd"] is True,
        tuple(_text(name) for name in given["inherits"][:MAX_ENTRIES]),
    )
    return _Form(trace, tuple(tensors))


def _place(entry: Mapping[str, Any]) -> _Place:
    name, dtype = entry["tensor"], _text(entry["dtype"])
    if not isinstance(name, str):
        raise ValueError(f"a {type(name).__name__} names an array")
    if "at" not in entry:
        return _Place(dtype, name, None, (), 0)
    at, shape = entry["at"], entry["shape"]
    if not (isinstance(shape, list) and len(shape) <= MAX_AXES and all(map(_is_count, [at, *shape]))):
        raise ValueError("a tensor of no shape")
    return _Place(dtype, name, at, tuple(shape), math.prod(shape))


def _is_count(given: object) -> bool:
    return type(given) is int and 0 <= given <= MAX_BYTES


def _seen(entry: Any) -> Seen:
    if isinstance(entry, str):
        return _text(entry)
    if not isinstance(entry, dict):
        if not (entry is None or isinstance(entry, bool | int | float)):
            raise ValueError(f"a {type(entry).__name__} stands for a value")
        if isinstance(entry, int) and entry.bit_length() > MAX_BITS:
            raise ValueError(f"an integer of {entry.bit_length()} bits")
        return entry
    if "opaque" in entry:
        return Opaque(_text(entry["opaque"]))
    return float(_text(entry["float"]))


def _failure(given: Any) -> Failure:
    frames = tuple(Frame(_text(f["function"]), int(f["line"]), _text(f["text"])) for f in given["frames"][:20])
    return Failure(_text(given["type"]), tuple(_text(b) for b in given["bases"][:40]), _text(given["message"]), frames)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"a {type(given).__name__} stands where text should")
    if len(given) <= MAX_TEXT and given.isascii() and given.isprintable():
        return given
    # Half a surrogate pair is legal JSON, but no file can be written with it.
    return CONTROLS.sub("", given[:MAX_TEXT]).encode("utf-8", "replace").decode()
