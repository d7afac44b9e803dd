"""Keeps a formula on one line with the mark that stands beside it: no line begins with a comma or ends with a bracket.

The browser may break a line on either side of a formula, since MathJax makes it a box. It changes no text.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

BEFORE = re.compile(r"[(“]+$")
BEHIND = re.compile(r"^[,.;:)!?’”]+")


def keep_marks(app: Sphinx, doctree: nodes.document) -> None:
    """Put each formula of a sentence, and the marks that touch it, into a piece that does not break."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        place = next(k for k, child in enumerate(parent.children) if child is formula)
        left = parent[place - 1] if place else None
        right = parent[place + 1] if place + 1 < len(parent) else None
        before = BEFORE.search(left) if isinstance(left, nodes.Text) else None
        behind = BEHIND.search(right) if isinstance(right, nodes.Text) else None
        if not before and not behind:
            continue
        piece = parent[place] = nodes.inline(classes=["unbroken"])
        if before:
            parent[place - 1] = nodes.Text(left[: before.start()])
            piece += nodes.Text(before[0])
        piece += formula
        if behind:
            parent[place + 1] = nodes.Text(right[behind.end() :])
            piece += nodes.Text(behind[0])
