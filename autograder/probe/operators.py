"""Hear of torch's own normalization where torch's dispatcher runs it, at no cost for any other operator.

Theory of operation. The dispatcher sends each call through a list of keys, and each thread can add keys to its own calls. Two keys
are torch's that nothing in torch answers to: one above all others, where a call arrives as Python made it (F.rms_norm, which is
composed of ordinary operators), one right above the place of a TorchDispatchMode, where what it is composed of arrives. Here the
normalization operators, and they alone, get a kernel at both, which writes a name down and calls on; for all others the
dispatcher knows beforehand that nothing is there. So the arithmetic of a layer written by hand runs at full speed, where a
mode would send each operator through Python. Where torch has no such keys, or a trial of them fails, `modes` does the work.

Like all evidence of the probe it is gathered in a process that the student controls.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import torch
from torch.library import Library, fallthrough_kernel
from torch.nn import functional

# Parts of operator names that no hand-written layer calls: native_batch_norm, cudnn_batch_norm, _native_batch_norm_legit,
# batch_norm_stats, _batch_norm_with_update, native_layer_norm, native_group_norm, _fused_rms_norm and their backward forms.
BUILT_IN = ("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "weight_norm")
FORWARD_MODE = "_make_dual"  # torch's forward-mode differentiation begins with it; it saves no tensor

CALLED, RUN = "TESTING_ONLY_GenericMode", "Fake"  # the two keys: what is called, what is run
# Whose calls are no function that Python code has named: an operator given by itself, a backward pass.
NAMELESS = ("torch/_ops.py", "torch\\_ops.py", "torch/autograd/graph.py", "torch\\autograd\\graph.py")

MOST_ERRORS = 8  # of those that led to one another

Note = Callable[[str], None]
_set_included: Any = getattr(torch._C, "_dispatch_tls_set_dispatch_key_included", None)
_keys: tuple[Any, ...] = ()  # themselves: to look one up by its name takes longer than all the rest
_kept: list[Library] = []  # what they have registered ends with them


@lru_cache(maxsize=4096)
def is_built_in(name: str) -> bool:
    """Tell whether the name of an operator or a function is one of torch's own normalization."""
    return any(part in name for part in BUILT_IN)


class Heard:
    """A block in which `note` is called with the name of each built-in function and operator that this thread runs.

    It holds for what torch does for this thread in others, too: a backward pass, a fork of a script.
    """

    latest: Note | None = None  # for threads that torch makes: they have this thread's keys, but not what is in `_here`

    def __init__(self, note: Note) -> None:
        self.note = note

    def tell(self, note: Note) -> None:
        """Call this one from now on, inside the block; whatever code that ran in it has turned off is on again."""
        self.note = note
        self._listen()

    def __enter__(self) -> None:
        self._before = getattr(_here, "note", None), Heard.latest
        self._looks = [getattr(functional, name) for name in _LOOKS]
        self._listen()

    def _listen(self) -> None:
        _here.note = Heard.latest = self.note
        for name, look in _LOOKS.items():
            setattr(functional, name, look)
        for key in _keys:
            _set_included(key, True)

    def __exit__(self, *_: object) -> None:
        for name, look in zip(_LOOKS, self._looks, strict=True):
            setattr(functional, name, look)
        _here.note, Heard.latest = self._before
        for key in _keys:
            _set_included(key, _here.note is not None)


_here = threading.local()


@cache
def can_hear() -> bool:
    """Register the kernels, once for the process, and try them; False where torch is not as this module takes it to be."""
    global _keys
    try:
        called, run = (torch._C._dispatch_key_parse(name) for name in (CALLED, RUN))
        _register(CALLED, called, lambda operator: str(operator.overloadpacket.__name__), _is_named)
        _register(RUN, run, str, lambda: True)
        _keys = (called, run)
        names: list[str] = []
        with Heard(names.append):
            x = torch.ones(2, 1) + 1
            functional.batch_norm(x, None, None, training=True)
            functional.rms_norm(x, (1,))
        return names == ["batch_norm", "aten.native_batch_norm.default", "rms_norm"]
    except (RuntimeError, AttributeError, TypeError, NotImplementedError):
        return False


def _register(name: str, key: Any, word: Callable[[Any], str], is_wanted: Callable[[], bool]) -> None:
    everywhere = Library("_", "IMPL")  # type: ignore[no-untyped-call]
    _kept.append(everywhere)
    everywhere.fallback(fallthrough_kernel, name)  # type: ignore[no-untyped-call]
    spaces: dict[str, Library] = {}
    for operator in _operators():
        if operator.namespace not in spaces:
            spaces[operator.namespace] = Library(operator.namespace, "IMPL")  # type: ignore[no-untyped-call]
        kernel = _kernel(operator, key, word(operator), is_wanted)
        spaces[operator.namespace].impl(operator, kernel, name)  # type: ignore[no-untyped-call]
    _kept.extend(spaces.values())


def _operators() -> Iterator[Any]:
    for whole in torch._C._dispatch_get_all_op_names():
        if is_built_in(whole) or whole == f"aten::{FORWARD_MODE}":
            space, _, rest = whole.partition("::")
            name, _, overload = rest.partition(".")
            try:
                yield getattr(getattr(getattr(torch.ops, space), name), overload or "default")
            except (AttributeError, RuntimeError):  # not for Python
                continue


def _kernel(operator: Any, key: Any, name: str, is_wanted: Callable[[], bool]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        note = getattr(_here, "note", None) or Heard.latest
        if note is not None and is_wanted():
            note(name)
        _set_included(key, False)  # of what it is made of nothing is heard at this key
        try:
            return operator(*args, **kwargs)
        finally:
            _set_included(key, True)

    return noted


def _is_named() -> bool:
    """Tell whether the code that has called an operator has called a function of that name."""
    try:
        caller = sys._getframe(2).f_code.co_filename
    except ValueError:  # a thread of torch's
        return False
    return not caller.endswith(NAMELESS)


def _refusing(look: Callable[..., None]) -> Callable[..., None]:
    """Return a look of torch's at sizes, which is heard where it refuses them: no operator runs then, and nobody else tells."""

    def looked(*sizes: Any) -> None:
        try:
            look(*sizes)
        except Exception:
            note, caller = getattr(_here, "note", None) or Heard.latest, sys._getframe(1).f_code.co_name
            if note is not None and is_built_in(caller):
                note(caller)
            raise

    return looked


# What torch's normalization functions look at before they call anything.
_LOOKS = {
    name: _refusing(getattr(functional, name))
    for name in ("_verify_batch_size", "_verify_spatial_size")
    if hasattr(functional, name)
}


def raised_in(error: BaseException) -> Iterator[str]:
    """Yield the names of torch's own normalization functions that an exception, or one before it, went through.

    They refuse what they are given before any operator runs.
    """
    chain: list[BaseException] = []
    last: BaseException | None = error
    while last is not None and len(chain) < MOST_ERRORS:
        chain.append(last)
        last = last.__cause__ or last.__context__
    for one in reversed(chain):
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if frame.f_code.co_filename == functional.__file__ and is_built_in(frame.f_code.co_name):
                yield frame.f_code.co_name
