"""Turn the student's objects into data: tensors, modules, returned values, exceptions. It reads and never judges.

What stands where nobody looks is left alone.
"""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import TracebackType
from typing import Any

import numpy as np
import torch

from autograder.trace.codec import MAX_BITS
from autograder.trace.look import EVERYTHING, Look
from autograder.trace.trace import Failure, Frame, Opaque, Seen, Tensor

MAX_ELEMENTS = 1 << 20
MAX_ENTRIES = 50
MAX_DEPTH = 3  # of tuples and dictionaries in one another
MAX_SEEN = 150  # addresses of one value
MAX_TEXT = 1000
MAX_FRAMES = 5
# Whose frames say nothing to a student: ours, those of installed packages, those of Python's own library.
OTHERS = ("autograder/probe", "autograder\\probe", "site-packages", "dist-packages", "<frozen ")
LIBRARY = sysconfig.get_path("stdlib")
# torch's own classes: the methods of a student's class would be a student's code.
OWN = frozenset((torch.Tensor, torch.nn.Parameter))


def thing(given: Any) -> Seen:
    """Return one value as data."""
    if type(given) in OWN:
        return _numbers(given)
    if isinstance(given, torch.Tensor):
        return _tensor(given)
    if type(given) is int and given.bit_length() > MAX_BITS:
        return Opaque(f"int of more than {MAX_BITS} bits")
    if given is None or type(given) in (bool, int, float, str):
        return given  # type: ignore[no-any-return]
    if type(given).__module__ == "numpy":
        return _numpy(given)
    return Opaque(type(given).__name__[:MAX_TEXT])


def _tensor(given: torch.Tensor) -> Seen:
    dtype = str(given.dtype).removeprefix("torch.")
    if given.numel() > MAX_ELEMENTS:
        return Opaque(f"tensor of {given.numel()} elements")
    return _odd(given, dtype)


def _numbers(given: torch.Tensor) -> Seen:
    dtype = dtype_name(given.dtype)
    if given.numel() > MAX_ELEMENTS:
        return Opaque(f"tensor of {given.numel()} elements")
    try:
        array = np.array(given.numpy(force=True), order="C")  # a copy: a later step may write into it
    except (RuntimeError, TypeError):
        return _odd(given, dtype)
    return Tensor(dtype, array) if array.dtype.kind in "fiub" else Opaque(f"tensor of {dtype}")


def _odd(given: torch.Tensor, dtype: str) -> Seen:
    """Return a tensor step by step: one of a class of a student's, or of what numpy has no word for (bfloat16 as float32)."""
    try:
        plain = given.detach().to("cpu", copy=True).resolve_conj().resolve_neg()
        if plain.dtype == torch.bfloat16:
            plain = plain.to(torch.float32)
        array = plain.contiguous().numpy()
    except (RuntimeError, TypeError) as error:  # sparse, quantized, meta, a subclass of the student's
        return Opaque(f"{type(given).__name__} of {dtype} ({str(error)[:80]})")
    return Tensor(dtype, array) if array.dtype.kind in "fiub" else Opaque(f"tensor of {dtype}")


@cache
def dtype_name(dtype: torch.dtype) -> str:
    """Return a dtype's name without torch's."""
    return str(dtype).removeprefix("torch.")


def _numpy(given: Any) -> Seen:
    if isinstance(given, np.generic) and given.dtype.kind in "fiub":
        return given.item()  # type: ignore[no-any-return]
    return Opaque(f"numpy.{type(given).__name__}")


def value(name: str, given: Any, look: Look = EVERYTHING) -> dict[str, Seen]:
    """Return a value as data, its parts under `name[0]` or `name['key']` when it is a tuple, a list or a dictionary.

    Parts of parts come in the same way, down to MAX_DEPTH.
    """
    seen: dict[str, Seen] = {}
    _value(name, given, look, seen, MAX_DEPTH)
    return seen


def _value(name: str, given: Any, look: Look, seen: dict[str, Seen], depth: int) -> int:
    """Write a value into `seen` and return at how many addresses it stands, looked at or not."""
    if depth == 0 or type(given) in OWN or not isinstance(given, HOLDERS):
        if look.at(name):
            seen[name] = thing(given)
        return 1
    parts: Iterable[tuple[str, Any]]
    if isinstance(given, Mapping):
        told: dict[str, Seen] = {f"{name} holds": "dict"}
        keys = list(given)[:MAX_ENTRIES]
        parts = [(f"{name}[{key if type(key) is int else str(key)[:MAX_TEXT]!r}]", given[key]) for key in keys]
    else:
        holds = f"{'tuple' if isinstance(given, tuple) else 'list'} of {len(given)}"
        told = {f"{name} holds": holds, f"len({name})": len(given)}
        parts = ((f"{name}[{number}]", part) for number, part in enumerate(given[:MAX_ENTRIES]))
    seen.update({address: entry for address, entry in told.items() if look.at(address)})
    count = len(told)
    for address, part in parts:
        count += _value(address, part, look, seen, depth - 1)
        if count > MAX_SEEN:
            break
    return count


HOLDERS = (tuple, list, Mapping)


def state(m: torch.nn.Module, look: Look = EVERYTHING) -> dict[str, Seen]:
    """Return what a module keeps: kinds, shapes and values of its tensors, the keys of its state dictionary."""
    names, attributes, kinds, rows = looked_at(look)
    parameters = dict(m.named_parameters()) if kinds else {}
    buffers = dict(m.named_buffers()) if kinds else {}
    seen: dict[str, Seen] = {}
    if "parameters" in names:
        seen["parameters"] = ", ".join(sorted(parameters)[:MAX_ENTRIES])
    if "buffers" in names:
        seen["buffers"] = ", ".join(sorted(buffers)[:MAX_ENTRIES])
    if "state_dict keys" in names:
        seen["state_dict keys"] = ", ".join(sorted(m.state_dict())[:MAX_ENTRIES])
    for name in attributes:
        _look_at(name, getattr(m, name, MISSING), parameters, buffers, look, seen)
    if rows:
        seen.update(_rows(getattr(m, "weight_g", None), getattr(m, "weight_v", None)))
    return seen


@lru_cache(maxsize=256)
def looked_at(look: Look) -> tuple[frozenset[str], tuple[str, ...], bool, bool]:
    """Return what is looked at of a module: lists of names, attributes, whether of what kind one is, and rows of weight norm."""
    names = frozenset(filter(look.at, ("parameters", "buffers", "state_dict keys")))
    attributes = tuple(name for name in CONTRACT_NAMES if any(map(look.at, ADDRESSES[name])))
    kinds = bool(names - {"state_dict keys"}) or any(
        look.at(kind) or look.at(graph) for kind, _, _, graph in ADDRESSES.values()
    )
    return names, attributes, kinds, look.at(ROWS_LENGTHS) or look.at(ROWS_DIFFER)


def _look_at(
    name: str,
    there: Any,
    parameters: Mapping[str, Any],
    buffers: Mapping[str, Any],
    look: Look,
    seen: dict[str, Seen],
) -> None:
    kind, shape, value, graph = ADDRESSES[name]
    is_tensor = isinstance(there, torch.Tensor)
    if look.at(kind):
        seen[kind] = _kind(name, parameters, buffers) if is_tensor else "no tensor"
    if look.at(shape):
        seen[shape] = _form(there) if is_tensor else "no tensor"
    if look.at(value):
        seen[value] = there if isinstance(there, Opaque) else thing(there)
    if look.at(graph) and is_tensor and name in buffers:
        seen[graph] = bool(there.requires_grad)


def _kind(name: str, parameters: Mapping[str, Any], buffers: Mapping[str, Any]) -> str:
    return "a parameter" if name in parameters else "a buffer" if name in buffers else "neither parameter nor buffer"


def _form(there: torch.Tensor) -> str:
    return _known_form(there.shape, there.dtype) if type(there) in OWN else f"{tuple(there.shape)}, {there.dtype}"


@lru_cache(maxsize=256)
def _known_form(shape: torch.Size, dtype: torch.dtype) -> str:
    return f"{tuple(shape)}, {dtype}"


def _rows(g: Any, v: Any) -> dict[str, Seen]:
    """Return how weight norm's g and v agree: a fresh layer draws its numbers, so that only this can be asked of them."""
    if not (isinstance(g, torch.Tensor) and isinstance(v, torch.Tensor) and v.dim() == 2 and g.shape == (len(v), 1)):
        return {}
    if not (g.is_floating_point() and v.is_floating_point()):
        return {}
    rows = v.detach().double()  # (out, in)
    lengths = rows.square().sum(1, keepdim=True).sqrt()  # (out, 1)
    return {
        ROWS_LENGTHS: bool(torch.allclose(g.detach().double(), lengths, rtol=1e-4)),
        ROWS_DIFFER: len(torch.unique(rows, dim=0)) == len(rows),
    }


# The tensors that the contract names on a module, in torch's words; a lab's checks choose among them.
CONTRACT_NAMES = (
    "weight",
    "bias",
    "running_mean",
    "running_var",
    "num_batches_tracked",
    "running_std",
    "weight_g",
    "weight_v",
)
ADDRESSES = {
    name: (f"kind of m.{name}", f"shape of m.{name}", f"m.{name}", f"m.{name} keeps a graph") for name in CONTRACT_NAMES
}
ROWS_LENGTHS, ROWS_DIFFER = "weight_g holds the lengths of the rows of weight_v", "weight_v has different rows"
MISSING = Opaque("missing")


def failure(error: BaseException) -> Failure:
    """Return an exception as data, with the student's own frames only."""
    try:
        message = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a student's exception may fail to print
        message = "(the exception could not be printed)"
    bases = tuple(base.__name__ for base in type(error).__mro__ if base not in (object, BaseException))
    frames = tuple(_frames(error.__traceback__))
    return Failure(type(error).__name__, bases, message[:MAX_TEXT], frames)


def _frames(trace: TracebackType | None) -> Iterator[Frame]:
    """Yield the last frames that are the student's. Only their files are read: those of torch are long."""
    own = []
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        if not any(part in file for part in OTHERS) and not file.startswith(LIBRARY):
            own.append((frame, file, line))
    for frame, file, line in own[-MAX_FRAMES:]:
        linecache.lazycache(file, frame.f_globals)
        linecache.checkcache(file)
        read = traceback.FrameSummary(file, line, frame.f_code.co_name, lookup_line=False).line
        yield Frame(frame.f_code.co_name, line or 0, (read or "").strip()[:200])
