"""The wire forms: scenarios as JSON, traces as safetensors whose header carries the rest as JSON. No pickle anywhere.

Both sides validate. What comes from the student's kernel is read in `reply`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import safetensors.numpy

from autograder.errors import ProtocolError
from autograder.trace import scenario as scenarios
from autograder.trace.network import Maker, Network
from autograder.trace.reply import (
    MAX_BITS,
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_HEADER,
    MAX_TEXT,
    load_reply,
    load_traces,
)
from autograder.trace.scenario import Listed, Recipe, Scenario, Sizes
from autograder.trace.trace import Failure, Observation, Opaque, Seen, Tensor, Trace

__all__ = [
    "MAX_BITS",
    "MAX_BYTES",
    "MAX_ENTRIES",
    "MAX_HEADER",
    "MAX_TEXT",
    "dump_scenarios",
    "dump_traces",
    "load_reply",
    "load_scenarios",
    "load_traces",
]

OBJECTS: dict[str, Callable[..., object]] = {
    "Recipe": Recipe,
    "Network": Network,
    "Maker": Maker,
    "Sizes": Sizes,
    "Listed": lambda of: Listed(of),
}  # what an argument may be


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
        parts = [_plain(part) for part in given]
        return {"$": "Listed", "of": parts} if isinstance(given, Listed) else parts
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
    """Return the traces as one safetensors file; texts and counts are cut to the caps of `reply`.

    The file holds one array for each kind of number; a tensor of a trace is a stretch of it.
    """
    parts: dict[str, list[np.ndarray[Any, Any]]] = {}
    filled: dict[str, int] = {}

    def seen(entry: Seen) -> object:
        if isinstance(entry, Tensor):
            array, name = entry.array, _name(entry.array.dtype)
            if name not in parts:
                parts[name], filled[name] = [], 0
            at = filled[name]
            filled[name] = at + array.size
            parts[name].append(array.ravel())
            return (name, at, array.shape) if name == entry.dtype else (name, at, array.shape, entry.dtype)
        return entry[:MAX_TEXT] if isinstance(entry, str) else _plain_value(entry)

    def observation(given: Observation) -> object:
        told = {k[:MAX_TEXT]: seen(v) for k, v in itertools.islice(given.seen.items(), MAX_ENTRIES)}
        return {"seen": told} if given.failure is None else {"seen": told, "failure": _failed(given.failure)}

    body = [
        {
            "scenario": trace.scenario[:MAX_TEXT],
            "observations": [observation(o) for o in trace.observations],
            # As a rule there is nothing more to say.
            **({"operators": trace.operators} if trace.operators else {}),
            **({"autograd": True} if trace.autograd else {}),
            **({"inherits": trace.inherits} if trace.inherits else {}),
        }
        for trace in given
    ]
    tensors = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return safetensors.numpy.save(tensors, metadata={"traces": _json(body)})


_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def _plain_value(value: Opaque | float | None) -> object:
    if isinstance(value, Opaque):
        return {"opaque": value.type[:MAX_TEXT]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > MAX_BITS:
        return {"opaque": f"int of more than {MAX_BITS} bits"}
    return value


@cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name  # numpy puts it together each time


def _failed(given: Failure) -> object:
    return {**vars(given), "frames": [vars(frame) for frame in given.frames]}
