"""Python code with its parts marked, as pygments marks it, in a third of the time.

pygments tries the rules of a state one after the other, some forty for each name or bracket, and that was a third of what it took
to record a submission. `Lexer` is pygments' own lexer with its own rules; only, those of a state are joined to one expression, of
which the first alternative that matches is the first rule that would. Rules that cannot be joined, as those of another version of
pygments may be, are tried as pygments does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import Error, Whitespace, _TokenType

Rule = tuple[Any, Any, Any]  # what finds the token, what it is, and which states follow
Find = Callable[[str, int], tuple[int, int] | None]  # at a position: which rule, and where its token ends
# What is escaped, a set of characters, or the bracket of a group whose number nobody asks for; such brackets cost most of the time.
PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(\()(?!\?)", re.DOTALL)
REFERENCE = re.compile(r"\\[1-9]|\(\?[P(]")  # to a group, by number or name
IGNORE_CASE = "(?i)"
SHARED_CHARS = 8_000


class Lexer(PythonLexer):  # type: ignore[misc]
    """Finds the same tokens as pygments' lexer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._found: dict[str, Find] = {}

    def get_tokens_unprocessed(self, text: str, stack: tuple[str, ...] = ("root",)) -> Iterator[tuple[int, Any, str]]:
        """Yield position, kind and text of each token."""
        states, position = list(stack), 0
        find, rules = self._state(states[-1])
        while True:
            found = find(text, position)
            if found is None:  # an error; a line's end begins anew
                if position >= len(text):
                    return
                newline = text[position] == "\n"
                states = ["root"] if newline else states
                yield position, Whitespace if newline else Error, text[position]
                position += 1
                find, rules = self._state(states[-1])
                continue
            number, end = found
            match, action, move = rules[number]
            if type(action) is _TokenType:
                yield position, action, text[position:end]
            elif action is not None:
                yield from action(self, match(text, position))
            position = end
            if move is not None:
                _move(states, move)
                find, rules = self._state(states[-1])

    def _state(self, name: str) -> tuple[Find, list[Rule]]:
        rules: list[Rule] = self._tokens[name]
        if name not in self._found:
            self._found[name] = joined(rules, int(self.flags)) or one_by_one(rules)
        return self._found[name], rules


def joined(rules: Sequence[Rule], flags: int) -> Find | None:
    """Return what tries the rules of a state as one expression, if they can be joined; its last group says which one it was."""
    parts = []
    for match, _, _ in rules:
        pattern = match.__self__.pattern
        ignores = "i" if match.__self__.flags & re.IGNORECASE and not flags & re.IGNORECASE else ""
        inner = PART.sub(lambda part: "(?:" if part[1] else part[0], pattern.removeprefix(IGNORE_CASE))
        if REFERENCE.search(pattern):
            return None
        parts.append(f"(?{ignores}:{inner})()")
    try:
        one = re.compile("|".join(parts), flags)
    except re.error:  # of flags that hold for a whole expression, for one
        return None
    if one.groups != len(rules):
        return None
    match_one = one.match

    def find(text: str, position: int) -> tuple[int, int] | None:
        found = match_one(text, position)
        return None if found is None else (found.lastindex - 1, found.end())  # type: ignore[operator]

    return find


def one_by_one(rules: Sequence[Rule]) -> Find:
    """Return what tries the rules of a state as pygments does."""

    def find(text: str, position: int) -> tuple[int, int] | None:
        for number, (match, _, _) in enumerate(rules):
            if found := match(text, position):
                return number, found.end()
        return None

    return find


def _move(states: list[str], move: int | str | tuple[str, ...]) -> None:
    """Go to other states, in the ways in which pygments writes that down; one state always stays."""
    if isinstance(move, int):
        del states[max(1, len(states) + move) :]
        return
    for state in (move,) if isinstance(move, str) else move:
        if state != "#pop":
            states.append(states[-1] if state == "#push" else state)
        elif len(states) > 1:
            states.pop()


def highlighted(source: str) -> Markup:
    """Return code as HTML; a class hands in many a cell that is the same, but no long one."""
    return _shared(source) if len(source) <= SHARED_CHARS else _marked(source)


@lru_cache(maxsize=256)
def _shared(source: str) -> Markup:
    return _marked(source)


def _marked(source: str) -> Markup:
    return Markup(highlight(source, *_tools()))  # pygments escapes


@lru_cache(maxsize=1)
def _tools() -> tuple[Lexer, HtmlFormatter]:
    return Lexer(), HtmlFormatter(nowrap=True)
