"""Have Python copy a module deeply in less time, with the same result: what is empty is made anew, not taken apart.

A module of torch's holds some ten empty collections, for hooks that it does not have, and `copy.deepcopy` knows no way of its own
for their types. Functions under test copy models all the time.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

# Python's own, which may go; then copies take their time.
_ways: dict[type, Any] = getattr(copy, "_deepcopy_dispatch", {})
_taken_apart: Any = getattr(copy, "_reconstruct", None)


class QuickCopies:
    """A block in which deep copies of modules take less time."""

    def __enter__(self) -> None:
        # Another thread's block may be in it.
        self._before = {cls: _ways[cls] for cls in _QUICK if _ways.get(cls) not in (None, _QUICK[cls])}
        _ways.update(_QUICK)

    def __exit__(self, *_: object) -> None:
        for cls in _QUICK:
            _ways.pop(cls, None)
        _ways.update(self._before)


def _ordered(given: OrderedDict[Any, Any], memo: dict[int, Any]) -> Any:
    return _taken_apart(given, memo, *given.__reduce_ex__(4)) if given or vars(given) else OrderedDict()


def _set(given: set[Any], memo: dict[int, Any]) -> Any:
    return _taken_apart(given, memo, *given.__reduce_ex__(4)) if given else set()


_QUICK: dict[Any, Any] = {OrderedDict: _ordered, set: _set} if _taken_apart is not None else {}
