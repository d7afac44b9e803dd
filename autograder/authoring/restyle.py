"""Write a source in the style of another one, by the lines in which that one differs from a lab's plain solution.

So a mistake, which is an edit of the plain solution, can be combined with a variant (the same mistake in another style) or with a
second mistake. It is text work: whether the outcome is still wrong, and in which way, is for its user to look at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from difflib import SequenceMatcher

Hunk = tuple[str, str]  # lines of the plain source, and what stands there instead


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


# --- styles that fit any source --------------------------------------------------------------------------------------------


def renamed(source: str) -> str:
    """Give every local variable another name; attributes, parameters and globals keep theirs."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            kept = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
            kept |= {name for n in ast.walk(node) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
            names |= stored - kept
    everywhere = {a.arg for n in ast.walk(ast.parse(source)) if isinstance(n, ast.arguments) for a in n.args}
    new = {name: f"das_{name}" for name in names - everywhere}

    class _Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.Name(new.get(node.id, node.id), node.ctx)

    return ast.unparse(ast.fix_missing_locations(_Rename().visit(ast.parse(source)))) + "\n"


def talkative(source: str) -> str:
    """Say something at the beginning of every method but the constructor."""
    return re.sub(r"(?m)^( *)def (?!__)(\w+)\((.*)\):\n", r'\g<0>\1    print("in \2")\n', source)


def behind_a_base(source: str) -> str:
    """Put each class behind another that does all the work, as course code often does."""
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    for name in names:
        source = re.sub(rf"\b{name}\b", f"Own{name}", source)
        source += f"\n\nclass {name}(Own{name}):\n    pass\n"
    return source


STYLES = {"renamed": renamed, "talkative": talkative, "behind-a-base": behind_a_base}
