"""Read a student's source text without running it: cut a file into cells, and find mentions of torch's own normalization.

Both only look. The cuts make a file behave like a notebook, where a cell that fails leaves the others alone; the mentions are
evidence for a person, beside what the probe saw while the code ran.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BUILT_IN = re.compile(
    r"(BatchNorm|LayerNorm|GroupNorm|InstanceNorm|RMSNorm|LocalResponseNorm)\w*$"
    r"|^(native_|cudnn_|miopen_|_native_)?(batch|layer|group|instance|rms|weight)_norm\w*$"
)
AUTOGRAD = ("autograd", "backward", "vjp", "jacrev", "jacobian", "requires_grad_", "forward_ad")


@dataclass(frozen=True)
class Chunk:
    """A stretch of a file that runs as one cell: its first line (from 1), a few words for it, its text."""

    line: int
    title: str
    source: str


def chunks(text: str) -> tuple[Chunk, ...]:
    """Cut a Python file into cells at its top-level statements, so that one that fails spoils no other name.

    Where the file does not parse, it is cut at lines that begin in column 0 with def, class, a decorator or another
    statement; the chunk with the syntax error then fails alone.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _by_columns(text)
    starts = [min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) for node in body]
    # Statements that share a line (a; b) cannot be cut apart.
    pairs = [
        (start, node)
        for i, (start, node) in enumerate(zip(starts, body, strict=True))
        if i == 0 or start > starts[i - 1]
    ]
    lines = text.splitlines(keepends=True)
    ends = [start - 1 for start, _ in pairs[1:]] + [len(lines)]
    return tuple(
        Chunk(start, _title(node), "".join(lines[start - 1 : end]))
        for (start, node), end in zip(pairs, ends, strict=True)
    )


def _title(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"def {node.name}"
    return ast.unparse(node).splitlines()[0][:60]


def _by_columns(text: str) -> tuple[Chunk, ...]:
    lines = text.splitlines(keepends=True)
    starts = [
        i
        for i, line in enumerate(lines)
        if re.match(r"(async def|def|class|import|from|@|if|for|while|with|try)\b|@|\w+ *=", line)
    ]
    starts = [i for i in starts if i == 0 or not lines[i - 1].startswith("@")]
    if not starts or starts[0] != 0:
        starts.insert(0, 0)
    ends = [*starts[1:], len(lines)]
    return tuple(
        Chunk(start + 1, lines[start].strip()[:60], "".join(lines[start:end]))
        for start, end in zip(starts, ends, strict=True)
        if "".join(lines[start:end]).strip()
    )


def mentions(sources: Sequence[str], exercises: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each exercise, where its own definition mentions torch's normalization (or, in a function, autograd)."""
    wanted, found = set(exercises), {}
    for source in sources:
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in wanted:
                lines = source.splitlines()
                found[node.name] = tuple(_mentioned(node, lines, wanted))
    return {name: where for name, where in found.items() if where}


def _mentioned(node: ast.ClassDef | ast.FunctionDef, lines: Sequence[str], wanted: set[str]) -> Iterable[str]:
    told = set()
    for part in ast.walk(node):
        name = part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""
        own = isinstance(part, ast.Name) and part.id in wanted  # the student's BatchNorm1d inside the BatchNorm2d
        hit = bool(BUILT_IN.search(name)) or (isinstance(node, ast.FunctionDef) and name in AUTOGRAD)
        if hit and not own and isinstance(part, ast.Attribute | ast.Name) and part.lineno not in told:
            told.add(part.lineno)
            yield f"the source mentions {name}: `{lines[part.lineno - 1].strip()[:100]}`"
