"""With which characters the matches of an expression may begin, found from the expression as Python's `re` reads it.

There may be too many of them and never too few: whatever is not understood here may begin with any character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import _constants as ops  # type: ignore[attr-defined]  # no public module tells how an expression is read
from re import _parser  # type: ignore[attr-defined]
from typing import Any

ASCII = frozenset(map(chr, range(128)))
FLAGS = re.UNICODE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.IGNORECASE
WITHOUT_WIDTH = (ops.AT, ops.ASSERT, ops.ASSERT_NOT)
REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT)
KINDS = {
    kind: frozenset(char for char in ASCII if re.match(pattern, char))
    for kind, pattern in (
        (ops.CATEGORY_DIGIT, r"\d"),
        (ops.CATEGORY_NOT_DIGIT, r"\D"),
        (ops.CATEGORY_SPACE, r"\s"),
        (ops.CATEGORY_NOT_SPACE, r"\S"),
        (ops.CATEGORY_WORD, r"\w"),
        (ops.CATEGORY_NOT_WORD, r"\W"),
    )
}


def beginning(pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the characters of ASCII with which a match may begin; an empty match may stand before any."""
    if pattern.flags & ~FLAGS:
        return ASCII
    chars, may_be_empty = _sequence(_parser.parse(pattern.pattern, pattern.flags), bool(pattern.flags & re.IGNORECASE))
    return ASCII if may_be_empty else chars


def _sequence(parts: Iterable[tuple[Any, Any]], any_case: bool) -> tuple[frozenset[str], bool]:
    """Return with what a match of these, one after the other, may begin, and whether it may be empty."""
    found: frozenset[str] = frozenset()
    for kind, value in parts:
        chars, may_be_empty = _part(kind, value, any_case)
        found |= chars
        if not may_be_empty:
            return found, False
    return found, True


def _part(kind: Any, value: Any, any_case: bool) -> tuple[frozenset[str], bool]:
    if kind in WITHOUT_WIDTH:
        return frozenset(), True
    if kind is ops.LITERAL and value < 128:
        return frozenset({chr(value).lower(), chr(value).upper()} if any_case else {chr(value)}), False
    if kind is ops.IN:
        return _set(value, any_case), False
    if kind is ops.BRANCH:
        found = [_sequence(branch, any_case) for branch in value[1]]
        return frozenset().union(*(chars for chars, _ in found)), any(may_be_empty for _, may_be_empty in found)
    if kind is ops.SUBPATTERN and not value[1] & ~re.IGNORECASE and not value[2]:
        return _sequence(value[3], any_case or bool(value[1]))
    if kind in REPEATS:
        least, _, repeated = value
        chars, may_be_empty = _sequence(repeated, any_case)
        return chars, may_be_empty or least == 0
    return ASCII, True


def _set(parts: Iterable[tuple[Any, Any]], any_case: bool) -> frozenset[str]:
    found: set[str] = set()
    negated = False
    for kind, value in parts:
        if kind is ops.LITERAL and (value < 128 or not any_case):
            found |= {chr(value).lower(), chr(value).upper()} if any_case else {chr(value)}
        elif any_case:
            return ASCII
        elif kind is ops.NEGATE:
            negated = True
        elif kind is ops.RANGE:
            found.update(map(chr, range(value[0], min(value[1], 127) + 1)))
        elif kind is ops.CATEGORY and value in KINDS:
            found |= KINDS[value]
        else:
            return ASCII
    return ASCII - found if negated else ASCII & found
