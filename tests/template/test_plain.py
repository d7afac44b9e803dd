"""A cell that is plain Python is seen to be it, and every cell becomes what IPython makes of it."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from IPython.core.async_helpers import _should_be_async
from IPython.core.inputtransformer2 import TokenTransformBase, TransformerManager

from autograder.template.plain import Plain

SOURCES = (
    "",
    "\n\n",
    "x = 1",
    "x = 1 # what?",
    "'%pwd'\n'!ls'\n'help?'",
    '"""\n%pwd\n!ls\nx?\n"""',
    "x = (1 %\n2)\ny = x != 3",
    "x = 7 \\\n  % 4",
    "f'{1!r:>5} {2 % 3}?'",
    "def f():\n    return 1\n\n\n  # a comment out of line",
    "\n\n  x = 1\n  y = 2",
    "%pwd",
    "%%time\nx = 1",
    "%%bash\nls",
    "a = %pwd",
    "a = !ls\nb = a",
    "!ls",
    "if True:\n    !ls\n    %pwd",
    "len?",
    "x = 1\nlen??",
    "?len",
    ",f a b",
    "/f a b",
    ";f a b",
    ">>> x = 1\n>>> x\n",
    ">>> for i in 1, 2:\n...     print(i)",
    "'''\n>>> x\n'''",
    "x = '''\\'''\n>>> x\n'''",
    "In [1]: x = 1\n   ...: y = 2",
    "await f()",
    "async for x in y:\n    pass",
    "async with x:\n    pass",
    "[x async for x in y]",
    "async def f():\n    await g()",
    "awaited = 1",
    "return 1",
    "def f(:\n  pass",
    "if True:\n        x\n    y",
    "if True:\nx",
    "x = [1,\n",
    "'''open",
    "x is 1",
    "x = '\\d'",
    "x is 1\n%pwd",
    "x is 1\nif True:\n        x\n    y",
    "assert (x, 'always')",
    "x = 1\x0cy = 2",
    "x = 'a\x0cb'\n",
    "# a\x0c?b\nx",
    "x = 'a\u2028%pwd'",
    "x = 1\r\ny = 2\r\n",
    "x = 1\r!ls",
    "x = '\x00'",
    "é = 1; x = 'é?'",
    "from __future__ import annotations\nx: y = 1",
    "x = 1;",
    "x\t= 1\n\tif y:\n        z",
    "(" * 300 + ")" * 300,
    "lambda: (yield)",
    "nonlocal x",
    "match x:\n    case [1, *_]:\n        pass",
)


def labs() -> list[str]:
    """The code cells of all labs."""
    found = sorted(Path(__file__).parents[2].glob("labs/*/*.ipynb"))
    assert found
    return [
        cell.source for path in found for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
    ]


def shell() -> Any:
    """As much of a shell as reads cells."""
    manager = TransformerManager()

    def should_run_async(raw: str, *, transformed_cell: str, preprocessing_exc_tuple: Any) -> bool:
        return made.autoawait and preprocessing_exc_tuple is None and bool(_should_be_async(transformed_cell))

    made = SimpleNamespace(
        input_transformer_manager=manager,
        transform_cell=manager.transform_cell,
        should_run_async=should_run_async,
        autoawait=True,
    )
    return made


def read(read_by: Any, source: str) -> list[Any]:
    """What comes of a cell, which is transformed twice and asked about twice, and what is warned of on the way."""
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for _ in range(2):
            cell, error = source, None
            try:
                cell = read_by.transform_cell(source)
            except Exception as raised:
                error = type(raised), raised, None
            asked = read_by.should_run_async(source, transformed_cell=cell, preprocessing_exc_tuple=error)
            found += [cell, repr(error), asked]
    return [*found, [(one.category, str(one.message), one.filename, one.lineno) for one in said]]


@pytest.mark.parametrize("source", SOURCES)
def test_a_cell_becomes_what_ipython_makes_of_it(source: str) -> None:
    """With the same errors and warnings, as often."""
    plain = shell()
    Plain(plain)
    assert read(plain, source) == read(shell(), source)


def test_so_do_the_labs_cells_one_after_the_other() -> None:
    """In one shell, which remembers nothing of the cell before."""
    plain, ipythons = shell(), shell()
    Plain(plain)
    for source in (*labs(), *SOURCES, *SOURCES[::-1]):
        assert read(plain, source) == read(ipythons, source), source


def test_plain_python_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """And compiled once; anything else is."""
    compiled = []
    compiles = compile
    monkeypatch.setattr(
        "builtins.compile", lambda *words, **more: compiled.append(words[1]) or compiles(*words, **more)
    )
    taken = []
    monkeypatch.setattr(
        "IPython.core.inputtransformer2.make_tokens_by_line", lambda lines: taken.append("".join(lines)) or []
    )
    plain = shell()
    Plain(plain)
    read(plain, "def f(x):\n    return x % 2 != 1  # is it?")
    assert taken == []
    assert compiled == ["<>"]
    read(plain, "x = 1\n!ls")
    assert set(taken) == {"x = 1\n!ls\n"}


def test_what_a_notebook_adds_to_the_transformers_is_asked() -> None:
    """Also of what is plain Python."""

    class Doubled(TokenTransformBase):
        done = False

        @classmethod
        def find(cls, tokens_by_line: Any) -> Any:
            return None if cls.done else cls((1, 0))

        def transform(self, lines: list[str]) -> list[str]:
            type(self).done = True
            return lines * 2

    plain = shell()
    Plain(plain)
    plain.input_transformer_manager.token_transformers.append(Doubled)
    assert plain.transform_cell("x = 1") == "x = 1\nx = 1\n"


def test_await_may_be_switched_off() -> None:
    """`%autoawait off` holds for the cells after it, whatever they were before."""
    plain = shell()
    Plain(plain)
    for autoawait in (True, False, True):
        plain.autoawait = autoawait
        assert read(plain, "await f()")[2] == autoawait
