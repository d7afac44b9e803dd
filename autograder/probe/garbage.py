"""Python's garbage collector waits while a scenario runs, and has its turn between two of them.

Theory of operation. What it collects may run code: a generator that was left in the middle of `with torch.no_grad()` is closed,
and that turns gradients on, in the middle of whatever runs then. So the garbage of one scenario, or of a cell, could change what
the next one shows, now and then. The collector is one for the whole process, and grading has more than one thread: the first
block that begins turns it off, and the last one that ends turns it on again. What was made since is looked through alone, as soon
as there is much of it; as a rule a whole submission does not make so much.
"""

from __future__ import annotations

import gc
import threading

ENOUGH = 100_000  # objects that may be garbage

_lock = threading.Lock()
_blocks = 0
_was_on = False


class NoGarbage:
    """A block in which nothing is collected but between two scenarios."""

    def __enter__(self) -> NoGarbage:
        global _blocks, _was_on
        with _lock:
            if _blocks == 0:
                _was_on = gc.isenabled()
            _blocks += 1
        gc.disable()
        return self

    def between(self) -> None:
        """Collect, where there is enough, and wait again, whatever the code that ran since has turned."""
        gc.disable()
        if gc.get_count()[0] > ENOUGH:
            gc.collect(1)  # what is older may be all of torch

    def __exit__(self, *_: object) -> None:
        global _blocks
        with _lock:
            _blocks -= 1
            if _blocks == 0 and _was_on:
                gc.enable()
