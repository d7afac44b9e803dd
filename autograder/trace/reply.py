"""Read the traces that a kernel sends: words once for all replies that have the same, numbers without a copy.

The bytes are a safetensors file whose header carries the words as JSON, and they are the student's to choose: whatever is wrong
with them becomes one ProtocolError, sizes and types are not believed. What is in a trace is not judged here.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from autograder.errors import ProtocolError
from autograder.trace.trace import Failure, Frame, Observation, Opaque, Seen, Tensor, Trace

MAX_BYTES = 32 << 20  # of one reply
MAX_HEADER = 4 << 20  # of its part that is not numbers: JSON of 32 MB could ask for a gigabyte of empty lists
MAX_KEPT = 1 << 16  # of a header whose words are kept for the next reply
MAX_AXES = 32  # of a tensor
MAX_TEXT = 2000  # characters of any one text in a trace
MAX_ENTRIES = 200  # addresses in one observation
MAX_BITS = 256  # of an integer
NUMPY_KINDS = "fiub"  # what a tensor in a trace may hold: floats, integers, booleans
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a terminal would obey them when a report is printed
LENGTH = 8  # bytes of the length of the header, in front of it

Arrays = Mapping[str, npt.NDArray[Any]]


def load_traces(raw: bytes) -> tuple[Trace, ...]:
    """Return the traces that the bytes hold; ProtocolError when they are too large or anything else."""
    return tuple(load_reply(raw))


def load_reply(raw: bytes) -> Reply:
    """Return the traces that the bytes hold, each made when it is asked for; ProtocolError as for `load_traces`.

    Their arrays are views of the bytes, and what two replies have in common but for the numbers may be one object.
    """
    if len(raw) > MAX_BYTES:
        raise ProtocolError(f"The reply holds {len(raw)} bytes; at most {MAX_BYTES} are read.")
    length = int.from_bytes(raw[:LENGTH], "little")
    if length > MAX_HEADER:
        raise ProtocolError(f"The header of the reply holds {length} bytes; at most {MAX_HEADER} are read.")
    try:
        header = raw[LENGTH : LENGTH + length]
        words = _words(header) if length <= MAX_KEPT else _words.__wrapped__(header)
        return Reply(words, words.arrays(raw))
    except (
        *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError),
        safetensors.SafetensorError,
    ) as error:
        raise ProtocolError(f"The reply of the kernel is not a trace: {str(error)[:200]}.") from error


class Reply(Sequence[Trace]):
    """The traces of one reply: its words, which other replies may have as well, and its numbers."""

    def __init__(self, words: Words, arrays: Arrays) -> None:
        self.words = words
        self.arrays = arrays
        self._made: dict[int, Trace] = {}

    @overload
    def __getitem__(self, index: int) -> Trace: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Trace]: ...
    def __getitem__(self, index: int | slice) -> Trace | Sequence[Trace]:
        if isinstance(index, slice):
            return tuple(self)[index]
        index = range(len(self))[index]
        if index not in self._made:
            self._made[index] = self.words.forms[index].trace(self.arrays)
        return self._made[index]

    def __len__(self) -> int:
        return len(self.words.forms)

    @property
    def took_too_long(self) -> bool:
        """Whether the probe had to stop one of them."""
        return self.words.took_too_long


@dataclass(frozen=True)
class Place:
    """Where the numbers of a tensor stand: a stretch of an array, or (`at` is None, in older files) the whole of it."""

    dtype: str
    array: str
    at: int | None
    shape: tuple[int, ...]
    size: int

    def tensor(self, arrays: Arrays) -> Tensor:
        """Return the tensor."""
        if self.at is None:
            return Tensor(self.dtype, arrays[self.array])
        return Tensor(self.dtype, arrays[self.array][self.at : self.at + self.size].reshape(self.shape))


@dataclass(frozen=True)
class Form:
    """A trace without its numbers: for each step what was seen, and where the numbers of its tensors stand."""

    empty: Trace
    tensors: tuple[Mapping[str, Place], ...]

    def trace(self, arrays: Arrays) -> Trace:
        """Return the trace with its numbers."""
        steps = zip(self.empty.observations, self.tensors, strict=True)
        observations = tuple(
            Observation({**o.seen, **{a: place.tensor(arrays) for a, place in places.items()}}, o.failure)
            if places
            else o
            for o, places in steps
        )
        t = self.empty
        return Trace(t.scenario, observations, t.operators, t.autograd, t.inherits)


@dataclass(frozen=True, eq=False)
class Words:
    """All of a reply but its numbers: the forms of its traces, and how its arrays lie in the bytes."""

    forms: tuple[Form, ...]
    layout: Mapping[str, tuple[np.dtype[Any], tuple[int, ...], int, int]]  # dtype, shape, where it begins, elements
    size: int  # bytes of a whole reply

    def arrays(self, raw: bytes) -> Arrays:
        """Return the arrays of a reply with these words; ValueError where its length is another."""
        if len(raw) != self.size:
            raise ValueError(f"{len(raw)} bytes where the header tells of {self.size}")
        return {
            name: np.frombuffer(raw, dtype, count, begin).reshape(shape)
            for name, (dtype, shape, begin, count) in self.layout.items()
        }

    @cached_property
    def took_too_long(self) -> bool:
        """Whether the probe had to stop a scenario."""
        return any(form.empty.took_too_long for form in self.forms)


@lru_cache(maxsize=256)
def _words(header: bytes) -> Words:
    """Read a header; the arrays that it tells of are tried with zeros, so that no number can be missing later."""
    told = json.loads(header)
    size = max((entry["data_offsets"][1] for name, entry in told.items() if name != "__metadata__"), default=0)
    if not _is_count(size):
        raise ValueError("arrays of no size")
    begin = LENGTH + len(header)
    arrays = safetensors.numpy.load(len(header).to_bytes(LENGTH, "little") + header + bytes(size))
    layout = {
        name: (array.dtype, array.shape, begin + told[name]["data_offsets"][0], array.size)
        for name, array in arrays.items()
    }
    forms = tuple(_form(entry) for entry in json.loads(told["__metadata__"]["traces"]))
    for place in (place for form in forms for places in form.tensors for place in places.values()):
        if arrays[place.array].dtype.kind not in NUMPY_KINDS:
            raise ValueError(f"a tensor of {arrays[place.array].dtype}")
        place.tensor(arrays)  # reshape asks whether it is all there
    return Words(forms, layout, begin + size)


def _form(given: Any) -> Form:
    observations, tensors = [], []
    for observation in given["observations"][:MAX_ENTRIES]:
        seen: dict[str, Seen] = {}
        places: dict[str, Place] = {}
        for address, entry in itertools.islice(observation["seen"].items(), MAX_ENTRIES):
            address = _text(address)
            if isinstance(entry, list) or (isinstance(entry, dict) and "tensor" in entry):
                places[address], seen[address] = _place(entry), None
            else:
                seen[address] = _seen(entry)
                places.pop(address, None)
        failure = None if observation.get("failure") is None else _failure(observation["failure"])
        observations.append(Observation(seen, failure))
        tensors.append(places)
    trace = Trace(
        _text(given["scenario"]),
        tuple(observations),
        tuple(_text(name) for name in given.get("operators", [])[:MAX_ENTRIES]),
        given.get("autograd") is True,
        tuple(_text(name) for name in given.get("inherits", [])[:MAX_ENTRIES]),
    )
    return Form(trace, tuple(tensors))


def _place(entry: Any) -> Place:
    """Read `[array, at, shape]`, with the dtype behind it where it is not the array's."""
    if isinstance(entry, dict):  # as in older files
        if "at" not in entry:
            return Place(_text(entry["dtype"]), _text(entry["tensor"]), None, (), 0)
        entry = [entry["tensor"], entry["at"], entry["shape"], entry["dtype"]]
    name, at, shape, dtype = entry if len(entry) == 4 else (*entry, entry[0])
    if not (isinstance(shape, list) and len(shape) <= MAX_AXES and all(map(_is_count, [at, *shape]))):
        raise ValueError("a tensor of no shape")
    return Place(_text(dtype), _text(name), at, tuple(shape), math.prod(shape))


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
