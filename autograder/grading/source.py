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
    r"|^(native_|cudnn_|miopen_|_native_)?(batch|layer|group|instance|rms|weight)_norm(_\w+)?$"
)
# A part of each such word.
HINT = re.compile(r"Norm|_norm|autograd|backward|vjp|jacrev|jacobian|requires_grad_|forward_ad")
BEGINS = re.compile(r"(?!\s|[#)\]}]|(else|elif|except|finally)\b).")  # a line in column 0 that may begin a statement
LOOK_AHEAD = 20  # beginnings that one statement may reach over
AUTOGRAD = ("autograd", "backward", "vjp", "jacrev", "jacobian", "requires_grad_", "forward_ad")


@dataclass(frozen=True)
class Chunk:
    """A stretch of a file that runs as one cell: its first line (from 1), a few words for it, its text."""

    line: int
    title: str
    source: str


def chunks(text: str) -> tuple[Chunk, ...]:
    """Cut a Python file into cells at its top-level statements, so that one that fails spoils no other name.

    Where the file does not parse, it is cut at lines that look like the beginning of a statement in column 0; the chunk
    with the syntax error then fails alone.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _by_columns(text)
    if not body:
        return ()
    starts = [min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) for node in body]
    # Statements that share a line (a; b) cannot be cut apart.
    pairs = [
        (start, node)
        for i, (start, node) in enumerate(zip(starts, body, strict=True))
        if i == 0 or start > (body[i - 1].end_lineno or 0)
    ]
    lines = _lines(text)
    ends = [start - 1 for start, _ in pairs[1:]] + [len(lines)]
    return tuple(
        Chunk(start, _title(node, lines[start - 1]), "".join(lines[start - 1 : end]))
        for (start, node), end in zip(pairs, ends, strict=True)
    )


def _lines(text: str) -> list[str]:
    """Return the lines as Python counts them, with their ends: a form feed, which str.splitlines cuts at, ends none."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def _title(node: ast.stmt, line: str) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"def {node.name}"
    return line.strip()[:60]


def _by_columns(text: str) -> tuple[Chunk, ...]:
    lines = _lines(text)
    begins = [bool(BEGINS.match(line)) and not (i and lines[i - 1].startswith("@")) for i, line in enumerate(lines)]
    cuts = sorted({0, len(lines), *(i for i, begin in enumerate(begins) if begin)})
    most = LOOK_AHEAD if len(cuts) < 2000 else 1  # a file of noise must not keep the grader busy
    made, first = [], 0
    while first < len(cuts) - 1:
        # A string or a bracket may hold lines that look like a beginning: take as many as it needs to parse.
        tried = range(first + 1, min(first + 1 + most, len(cuts)))
        last = next((end for end in tried if _parses("".join(lines[cuts[first] : cuts[end]]))), first + 1)
        source = "".join(lines[cuts[first] : cuts[last]])
        if source.strip():
            made.append(Chunk(cuts[first] + 1, lines[cuts[first]].strip()[:60], source))
        first = last
    return tuple(made)


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def mentions(sources: Sequence[str], exercises: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each exercise, where its own definition mentions torch's normalization (or, in a function, autograd)."""
    wanted = set(exercises)
    found: dict[str, tuple[str, ...]] = {}
    for source in sources:
        if source.isascii() and not any(name in source for name in wanted):
            continue  # it defines none of them
        if not any(found.values()) and not _has_a_hint(source, wanted):
            continue  # to parse it takes ten times as long
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in wanted:
                lines = _lines(source)
                found[node.name] = tuple(_mentioned(node, lines, wanted)) if _may_mention(node, lines) else ()
    return {name: where for name, where in found.items() if where}


def _has_a_hint(source: str, wanted: Iterable[str]) -> bool:
    """Tell whether a word of torch's stands anywhere in a source but where a wanted name is defined, from another one or not."""
    if not source.isascii():
        return True
    names = "|".join(map(re.escape, sorted(wanted)))
    rest = re.sub(rf"\b(class|def)\s+({names})\b(\s*\(\s*({names})\s*\))?", "", source)
    return HINT.search(rest) is not None


def _may_mention(node: ast.ClassDef | ast.FunctionDef, lines: Sequence[str]) -> bool:
    """Tell whether a word of torch's stands anywhere in a definition but in its own name: nearly always none does."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    words = _docstring(node, lines)
    text = "".join(lines[n - 1] for n in range(first, (node.end_lineno or first) + 1) if n not in words)
    # Python reads a letter of another width as the plain one.
    return not text.isascii() or len(HINT.findall(text)) > len(HINT.findall(node.name))


def _docstring(node: ast.ClassDef | ast.FunctionDef, lines: Sequence[str]) -> range:
    """Return the lines (from 1) that hold the docstring of a definition and nothing else."""
    said = node.body[0]
    if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) and isinstance(said.value.value, str):
        last = said.end_lineno or said.lineno
        beside = lines[said.lineno - 1].encode()[: said.col_offset] + lines[last - 1].encode()[said.end_col_offset :]
        if not beside.strip():
            return range(said.lineno, last + 1)
    return range(0)


def _mentioned(node: ast.ClassDef | ast.FunctionDef, lines: Sequence[str], wanted: set[str]) -> Iterable[str]:
    told = set()
    for part in ast.walk(node):
        name = part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""
        own = isinstance(part, ast.Name) and part.id in wanted  # the student's BatchNorm1d inside the BatchNorm2d
        hit = bool(BUILT_IN.search(name)) or (isinstance(node, ast.FunctionDef) and name in AUTOGRAD)
        if hit and not own and isinstance(part, ast.Attribute | ast.Name) and part.lineno not in told:
            told.add(part.lineno)
            yield f"the source mentions {name}: `{lines[part.lineno - 1].strip()[:100]}`"
