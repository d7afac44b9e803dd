"""Put two mistakes into one source, and find the two that make just what a submission makes.

A mistake is an edit of a lab's plain solution. Where the edits of two mistakes touch different lines, both fit into one source, and
that source can be run. So a pair need not be guessed from what each shows alone: a submission holds both when it shows what
the two together show, everywhere. It is text work and a choice; `grading` runs the sources.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from autograder.checks.check import Mistake

Hunk = tuple[str, str]  # lines of the plain source, and what stands there instead
MOST_PAIRS = 400  # more of them mean that this check tells mistakes apart badly, and each has to be run


def hunks(plain: str, other: str) -> tuple[Hunk, ...]:
    """Return the stretches of whole lines in which a source differs from the plain one, each with a line that is kept."""
    a, b = plain.splitlines(keepends=True), other.splitlines(keepends=True)
    found = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "insert":  # nothing is replaced: the line above says where it goes, the one below if there is none
            above = a0 > 0
            a0, b0 = (a0 - 1, b0 - 1) if above else (a0, b0)
            a1, b1 = (a1, b1) if above else (a1 + 1, b1 + 1)
        if kind != "equal":
            found.append(("".join(a[a0:a1]), "".join(b[b0:b1])))
    return tuple(found)


def restyled(source: str, changes: Iterable[Hunk], *, all_of_them: bool = False) -> str | None:
    """Return the source with those changes that fit it, each old stretch standing there once; None when none fits.

    With `all_of_them`, None when one does not fit.
    """
    made, changes = source, tuple(changes)
    for old, new in changes:
        if made.count(old) == 1:
            made = made.replace(old, new)
        elif all_of_them:
            return None
    return made if made != source and _parses(made) else None


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def composed(a: Mistake, b: Mistake, plain: str | None) -> Mistake | None:
    """Return both mistakes in one source; None when their edits do not fit into one."""
    if plain is None:
        return None
    made = restyled(a.source, hunks(plain, b.source), all_of_them=True)
    if made is None or made in (a.source, b.source):
        return None
    return Mistake(f"{a.id}+{b.id}", a.exercise, a.check, a.title, a.symptom, a.hint, a.page, made)


def choose_composed(
    pairs: Sequence[tuple[Mistake, Mistake]], plain: str | None, shows: Callable[[Mistake, Sequence[str]], bool]
) -> tuple[Mistake, ...]:
    """Return the two mistakes that together make what a submission makes, the one that is in every such pair, or ().

    `shows` tells whether the submission shows what a source shows in this check and in the named ones, those that the two were
    made for.
    """
    if len(pairs) > MOST_PAIRS:
        return ()
    found = []
    for a, b in pairs:
        both = composed(a, b, plain)
        if both is not None and shows(both, (a.check, b.check)):
            found.append((a, b))
    if len(found) == 1:
        return found[0]
    # Several pairs: what they have in common is the first to mend.
    return tuple(m for m in found[0] if all(any(m is other for other in pair) for pair in found)) if found else ()
