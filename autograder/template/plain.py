"""What IPython finds out about each cell, found out once: that it is plain Python, and whether it waits for something.

IPython takes a cell apart token by token, in Python, to find `%magic`, `!command` and `help?`, and compiles it twice only to see
whether it awaits, before it runs it. None of the three is Python: so a cell that compiles has none, and that one compilation says
as well whether it awaits. A cell that does not compile, and whatever else is unusual, goes IPython's own way. What it is not: a
change of what a cell shows. Warnings of the compiler are shown as often as before.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from IPython.core import inputtransformer2 as own

TOKENS = (own.MagicAssign, own.SystemAssign, own.EscapedCommand, own.HelpEnd)
"""All that looks at tokens; a course or a student may add to it."""


class Plain:
    """Takes the place of some methods of a shell; remembers the last cell and no other."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._manager = shell.input_transformer_manager
        self._transform: Callable[[str], str] = shell.transform_cell
        self._asked: Callable[..., bool] = shell.should_run_async
        self._cell: tuple[str, str] | None = None  # raw and transformed, until it is asked for again
        self._compiled: tuple[str, bool] | None = None  # a text, and whether it awaits
        self._warned = False
        shell.transform_cell, shell.should_run_async = self.transform_cell, self.should_run_async
        self._manager.do_token_transforms = self.do_token_transforms
        steps = self._manager.cleanup_transforms
        steps[:] = [_without_prompts if step is own.classic_prompt else step for step in steps]

    def transform_cell(self, raw_cell: str) -> str:
        """As the shell's; each cell is transformed twice, in a row."""
        known, self._cell = self._cell, None
        if known is not None and known[0] == raw_cell:
            return known[1]
        done = self._transform(raw_cell)
        self._cell = (raw_cell, done)
        return done

    def do_token_transforms(self, lines: list[str]) -> list[str]:
        """Return the lines as they are where they are Python, else IPython's translation of them."""
        text = "".join(lines)
        # Where Python sees the same lines: there are more ways to end one than it knows.
        usual = tuple(self._manager.token_transformers) == TOKENS and len(lines) == text.count("\n")
        if usual and self._compiles(text):
            return lines
        return list(type(self._manager).do_token_transforms(self._manager, lines))

    def should_run_async(self, raw_cell: str, **more: Any) -> bool:
        """As the shell's."""
        known = self._compiled
        if known is None or more != {"transformed_cell": known[0], "preprocessing_exc_tuple": None}:
            return self._asked(raw_cell, **more)
        if self._warned:
            self._compiled = None  # the next time it is compiled, and warned of, again
        return bool(known[1] and self._shell.autoawait)

    def _compiles(self, text: str) -> bool:
        said: list[tuple[Any, Any]] = []
        shown = warnings.showwarning
        warnings.showwarning = lambda *words, **named: said.append((words, named))
        self._compiled = None
        try:
            code = compile(text, "<>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return False  # whatever it is, IPython finds it
        finally:
            warnings.showwarning = shown
        for words, named in said:
            shown(*words, **named)
        self._compiled = text, code.co_flags & inspect.CO_COROUTINE != 0
        self._warned = bool(said)
        return True


def _without_prompts(lines: list[str]) -> list[str]:
    """As IPython's own, which looks through all lines for quotes first."""
    return list(own.classic_prompt(lines)) if any(">>>" in line for line in lines) else lines
