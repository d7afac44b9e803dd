"""Evidence: which of torch's own normalization operators ran, and whether its autograd did the work.

It decides nothing. A student who wants to hide from it can, since it runs in the student's process; the source look in
`autograder.grading` is the second, independent evidence.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.probe.threads import followed

# Parts of operator names that no hand-written layer calls: native_batch_norm, cudnn_batch_norm, _native_batch_norm_legit,
# batch_norm_stats, _batch_norm_with_update, native_layer_norm, native_group_norm, _fused_rms_norm and their backward forms.
BUILT_IN = ("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "weight_norm")

FORWARD_MODE = "_make_dual"  # torch's forward-mode differentiation begins with it; it saves no tensor


@dataclass
class OperatorLog:
    """What was seen: names of built-in operators in the order of their first call, and autograd's use."""

    operators: list[str] = field(default_factory=list)
    unpacked: bool = False


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What the dispatcher runs, however it was called: `aten.native_batch_norm.default`."""

    def __init__(self, log: OperatorLog) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.log = log

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _note(self.log, _name_of(func))
        return func(*args, **(kwargs or {}))


# TorchDispatchMode wraps the method so that torch.compile leaves it alone; that imports torch's compiler (a second) at the
# first operator and costs half of the listening. Nothing is compiled while the probe listens.
_Operators.__torch_dispatch__ = inspect.unwrap(_Operators.__torch_dispatch__)  # type: ignore[method-assign]


@lru_cache(maxsize=4096)
def _name_of(func: Any) -> str:
    return str(func)


class _Functions(TorchFunctionMode):
    """What Python code calls: needed for functions that are composed of ordinary operators, as F.rms_norm on a CPU."""

    def __init__(self, log: OperatorLog) -> None:
        super().__init__()
        self.log = log

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", None) in ("torch", "torch.nn.functional", "torch._C._nn", None):
            name = str(getattr(func, "__name__", ""))
            _note(self.log, name)
            self.log.unpacked |= name == FORWARD_MODE
        return func(*args, **(kwargs or {}))


def _note(log: OperatorLog, name: str) -> None:
    if _is_built_in(name) and name not in log.operators:
        log.operators.append(name)


@lru_cache(maxsize=4096)
def _is_built_in(name: str) -> bool:
    return any(part in name for part in BUILT_IN)


@contextmanager
def listening(log: OperatorLog) -> Iterator[None]:
    """Write the built-in normalization operators that run inside the block into the log."""

    @contextmanager
    def modes() -> Iterator[None]:
        with _Functions(log), _Operators(log):
            yield

    with modes(), followed(modes):
        yield


@contextmanager
def watching_autograd(log: OperatorLog) -> Iterator[None]:
    """Note when a backward pass reads a tensor that was saved for it inside the block.

    Building a graph alone is no offence (a hand-written backward on a tensor that needs a gradient builds one); reading it is.
    """

    def unpack(saved: Any) -> Any:
        log.unpacked = True
        return saved

    @contextmanager
    def hooks() -> Iterator[None]:
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            yield

    with hooks(), followed(hooks):
        yield


def inherited(target: object) -> tuple[str, ...]:
    """Return torch's own normalization classes that a class, or the class of a module, derives from."""
    cls = target if inspect.isclass(target) else type(target)
    return tuple(
        f"torch.nn.{base.__name__}"
        for base in cls.__mro__
        if base.__module__.startswith(("torch.nn.modules.batchnorm", "torch.nn.modules.normalization"))
        or base.__module__.startswith("torch.nn.modules.instancenorm")
    )
