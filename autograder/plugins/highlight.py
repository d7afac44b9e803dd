"""Python code with its parts marked, as pygments marks it, in a fifth of the time.

pygments tries the rules of a state one after the other, some forty for each name or bracket, and that was a third of what it took
to record a submission. `Lexer` is pygments' own lexer with its own rules, of which it tries only those whose matches may begin with
the character that stands there (`beginning`), most often one to four. `_html` writes what pygments' formatter writes.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any

from markupsafe import Markup
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import Error, Whitespace, _TokenType

from autograder.plugins.beginning import ASCII, beginning

Rule = tuple[Any, Any, Any]  # what finds the token, what it is, and which states follow
NAME = "[A-Z_a-z][0-9A-Z_a-z]*"  # finds in ASCII what `PythonLexer.uni_name` finds, whose letters of all scripts take longer
SHARED_CHARS = 8_000


class State(dict[str, tuple[Rule, ...]]):
    """Which rules of a state may match, by the character that stands there; "" is the end."""

    def __init__(self, rules: Sequence[Rule], *, is_ascii: bool) -> None:
        """Take pygments' rules, for texts of ASCII or for any."""
        self._rules = tuple((_of_ascii(match) if is_ascii else match, action, move) for match, action, move in rules)
        self._beginnings = [beginning(match.__self__) for match, _, _ in self._rules]

    def __missing__(self, char: str) -> tuple[Rule, ...]:
        if not char.isascii():  # nor remembered: there may be a hundred thousand
            return self._rules
        self[char] = possible = tuple(
            compress(self._rules, (char in chars or chars is ASCII for chars in self._beginnings))
        )
        return possible


def _of_ascii(match: Any) -> Any:
    found: re.Pattern[str] = match.__self__
    if PythonLexer.uni_name not in found.pattern:
        return match
    return re.compile(found.pattern.replace(PythonLexer.uni_name, NAME), found.flags).match


class Lexer(PythonLexer):  # type: ignore[misc]
    """Finds the same tokens as pygments' lexer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._states: dict[tuple[str, bool], State] = {}

    def get_tokens_unprocessed(self, text: str, stack: tuple[str, ...] = ("root",)) -> Iterator[tuple[int, Any, str]]:
        """Yield position, kind and text of each token."""
        is_ascii = text.isascii()
        states, position = list(stack), 0
        state = self._state(states[-1], is_ascii)
        while True:
            for match, action, move in state[text[position : position + 1]]:
                found = match(text, position)
                if found is None:
                    continue
                end = found.end()
                if type(action) is _TokenType:
                    yield position, action, text[position:end]
                elif action is not None:
                    yield from action(self, found)
                position = end
                if move is not None:
                    _move(states, move)
                    state = self._state(states[-1], is_ascii)
                break
            else:  # an error; a line's end begins anew
                if position >= len(text):
                    return
                newline = text[position] == "\n"
                states = ["root"] if newline else states
                yield position, Whitespace if newline else Error, text[position]
                position += 1
                state = self._state(states[-1], is_ascii)

    def _state(self, name: str, is_ascii: bool) -> State:
        if (name, is_ascii) not in self._states:
            self._states[name, is_ascii] = State(self._tokens[name], is_ascii=is_ascii)
        return self._states[name, is_ascii]


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
    lexer, opens = _tools()
    return Markup(_html(lexer.get_tokens(source), opens))  # which escapes


@lru_cache(maxsize=1)
def _tools() -> tuple[Lexer, Opens]:
    return Lexer(), Opens()


class Opens(dict[Any, str]):
    """How pygments' formatter begins an element, by the kind of the token; "" where it makes none."""

    def __missing__(self, kind: Any) -> str:
        made = io.StringIO()
        HtmlFormatter(nowrap=True).format([(kind, "&")], made)
        self[kind] = opens = made.getvalue().partition("&amp;")[0]
        return opens


def _html(tokens: Iterable[tuple[Any, str]], opens: Opens) -> str:
    """Return tokens as HTML: neighbours of one kind are one element, and none goes over a line's end."""
    made: list[str] = []
    add = made.append
    now: str | None = None  # how the element began that the line is in; "" for none, and None where a line begins
    for kind, value in tokens:
        if value == "\n":
            add("</span>\n" if now else "\n")
            now = None
            continue
        opening = opens[kind]
        if "&" in value or "<" in value or ">" in value:
            value = html.escape(value, quote=False)
        if "\n" in value:
            *lines, value = value.split("\n")
            for line in lines:
                if line and opening != now:
                    add("</span>" if now else "")
                    now = opening
                    add(opening)
                add(f"{line}</span>\n" if now else f"{line}\n")
                now = None
        if opening == now:
            add(value)
        elif value:
            add(f"</span>{opening}{value}" if now else opening + value)
            now = opening
    if now is not None:
        add("</span>\n" if now else "\n")
    return "".join(made)
