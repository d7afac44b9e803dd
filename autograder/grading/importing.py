"""The imports of a process that is about to grade, without the search for garbage that would take a tenth of their time.

Python looks through all objects every so often, and torch brings half a million. What is there when the imports are done stays
until the process ends: it is not looked through again either, which the grading of every submission gains from.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

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
