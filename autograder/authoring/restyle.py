"""Styles that fit any source: the same program in another handwriting, to see whether a mistake is still recognized in it."""

from __future__ import annotations

import ast
import re


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
