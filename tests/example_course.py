"""A course in a folder of its own that holds the example lab of docs/example and nothing else, for the tests of authoring."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAB = "lab90_unit_length"
EXAMPLE = ROOT / "docs" / "example" / LAB
WITHOUT_CACHES = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")


def write_course(root: Path, *, with_lab: bool = True) -> Path:
    """Make the course: the example lab in solutions/, the book's sources, and what nbgrader reads."""
    (root / "solutions").mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / "__init__.py", root / "solutions")
    if with_lab:
        shutil.copytree(EXAMPLE, root / "solutions" / LAB, ignore=WITHOUT_CACHES)
    (root / "book").mkdir()
    for page in (ROOT / "book").glob("*.md"):
        shutil.copy(page, root / "book")
    for name in ("_toc.yml", "nbgrader_config.py"):
        shutil.copy(ROOT / name, root)
    return root


@contextmanager
def loadable(root: Path) -> Iterator[None]:
    """Let `solutions.lab90_...` be loaded from the course's files as they stand now, although `solutions` is loaded already."""
    import solutions

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solutions, "__path__", [str(root / "solutions"), *solutions.__path__])
        patch.setattr(sys, "path", list(sys.path))
        patch.setattr(sys, "dont_write_bytecode", True)  # two edits within one second must not look alike
        forget()
        try:
            yield
        finally:
            forget()


def forget() -> None:
    """Take the labs of such a course out of what is loaded."""
    for name in [name for name in sys.modules if name.startswith("solutions.lab9")]:
        del sys.modules[name]


def edit(path: Path, *edits: tuple[str, str]) -> None:
    """Replace texts of a file; each must stand in it, so that no edit silently does nothing."""
    text = path.read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, f"{old!r} does not stand in {path}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
