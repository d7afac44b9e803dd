"""The imports of a process that is about to grade, without the search for garbage that would take a tenth of their time.

Python looks through all objects every so often, and torch brings half a million. What is there when the imports are done stays
until the process ends: it is not looked through again either, which the grading of every submission gains from.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

FULL_SEARCHES_AFTER = 30
"""Python looks through everything (that is not frozen) after so many smaller searches, not after 10."""

PLUGINS = "TORCH_DEVICE_BACKEND_AUTOLOAD"
"""torch's switch for its search for plug-ins of accelerators among all installed packages; grading needs none."""


@contextmanager
def importing() -> Iterator[None]:
    """Import in this block what the process needs for all its life."""
    asked = os.environ.get(PLUGINS)
    os.environ[PLUGINS] = asked or "0"
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
        if asked is None:
            del os.environ[PLUGINS]


@cache
def settle() -> None:
    """Take what a process holds after its first work for what it holds for good, and look through everything more seldom.

    What the first work makes beside its results (an ORM's mappers, grammars, templates) is a hundred thousand objects more, and was
    looked through again and again for the rubbish of a class, which is mostly gone by itself. The memory that waits for a search
    stays bounded: some two hundred thousand objects, a few tens of megabytes.
    """
    gc.collect()  # or the rubbish of the first work would be kept as well
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL_SEARCHES_AFTER)
