"""Evidence: which of torch's own normalization operators ran, and whether its autograd did the work.

It decides nothing. A student who wants to hide from it can, since it runs in the student's process; the source look in
`autograder.grading` is the second, independent evidence.
"""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.probe.modes import HeardSlowly
from autograder.probe.operators import FORWARD_MODE, Heard, can_hear, raised_in
from autograder.probe.threads import Followed


@dataclass
class OperatorLog:
    """What was seen: names of built-in functions and operators in the order of their first call, and autograd's use."""

    operators: list[str] = field(default_factory=list)
    unpacked: bool = False

    def note(self, name: str) -> None:
        """Write down the name of what ran."""
        if name == FORWARD_MODE:
            self.unpacked = True
        elif name not in self.operators:
            self.operators.append(name)


class Watch:
    """A block in which a log is kept of this thread and of those that begin in it: of operators, of autograd, or of both.

    It can be entered again, though not while it is entered.
    """

    def __init__(self, log: OperatorLog, *, operators: bool, autograd: bool) -> None:
        self._log = log
        self._operators, self._autograd = operators, autograd
        self._made = self._blocks()
        self._followed = Followed(self._blocks)

    def _blocks(self) -> tuple[AbstractContextManager[Any], ...]:
        heard = ((Heard if can_hear() else HeardSlowly)(self._log.note),) if self._operators else ()
        hooks = (torch.autograd.graph.saved_tensors_hooks(_same, self._unpack),) if self._autograd else ()
        return (*heard, *hooks)

    def turn_to(self, log: OperatorLog) -> None:
        """Inside the block, keep another log from now on: to begin and to end a block costs more than many a scenario."""
        self._log = log
        for block in self._made:
            if isinstance(block, Heard | HeardSlowly):
                block.tell(log.note)

    def _unpack(self, saved: Any) -> Any:
        self._log.unpacked = True
        return saved

    def __enter__(self) -> Watch:
        for block in self._made:
            block.__enter__()
        if self._made:
            self._followed.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._made:
            self._followed.__exit__(*error)
        for block in reversed(self._made):
            block.__exit__(*error)

    def raised(self, error: BaseException) -> None:
        """Note which functions an exception went through that ended the block: no operator may have run yet."""
        if self._operators:
            for name in raised_in(error):
                self._log.note(name)


def _same(tensor: Any) -> Any:
    return tensor


def listening(log: OperatorLog) -> Watch:
    """Write the built-in normalization operators that run inside the block into the log."""
    return Watch(log, operators=True, autograd=False)


def watching_autograd(log: OperatorLog) -> Watch:
    """Note when a backward pass reads a tensor that was saved for it inside the block.

    Building a graph alone is no offence (a hand-written backward on a tensor that needs a gradient builds one); reading it is.
    """
    return Watch(log, operators=False, autograd=True)


NORMALIZATION = tuple(f"torch.nn.modules.{name}" for name in ("batchnorm", "normalization", "instancenorm"))


def inherited(target: object) -> tuple[str, ...]:
    """Return torch's own normalization classes that a class, or the class of a module, derives from."""
    cls = target if inspect.isclass(target) else type(target)
    return tuple(f"torch.nn.{base.__name__}" for base in cls.__mro__ if base.__module__.startswith(NORMALIZATION))
