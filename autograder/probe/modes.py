"""Hear of torch's own normalization by torch's modes: where `operators` cannot, since each operator then goes through Python."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.probe.operators import FORWARD_MODE, Note, is_built_in

MODULES = ("torch", "torch.nn.functional", "torch._C._nn", None)  # where the functions live whose names say something


class HeardSlowly:
    """A block in which `note` is called with the name of each built-in function and operator that this thread runs."""

    def __init__(self, note: Note) -> None:
        self._modes = (_Functions(note), _Operators(note))

    def tell(self, note: Note) -> None:
        """Call this one from now on, inside the block."""
        for mode in self._modes:
            mode.note = note

    def __enter__(self) -> None:
        for mode in self._modes:
            mode.__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*error)  # type: ignore[no-untyped-call]


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What the dispatcher runs, however it was called: `aten.native_batch_norm.default`."""

    def __init__(self, note: Note) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.note = note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _name_of(func)
        if is_built_in(name):
            self.note(name)
        return func(*args, **(kwargs or {}))


# TorchDispatchMode wraps the method so that torch.compile leaves it alone; that imports torch's compiler (a second) at the
# first operator and costs half of the listening. Nothing is compiled while the probe listens.
_Operators.__torch_dispatch__ = inspect.unwrap(_Operators.__torch_dispatch__)  # type: ignore[method-assign]


@lru_cache(maxsize=4096)
def _name_of(func: Any) -> str:
    return str(func)


class _Functions(TorchFunctionMode):
    """What Python code calls: needed for functions that are composed of ordinary operators, as F.rms_norm on a CPU."""

    def __init__(self, note: Note) -> None:
        super().__init__()
        self.note = note

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", None) in MODULES:
            name = str(getattr(func, "__name__", ""))
            if name == FORWARD_MODE or is_built_in(name):
                self.note(name)
        return func(*args, **(kwargs or {}))
