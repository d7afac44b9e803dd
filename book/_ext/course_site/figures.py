"""Draws the pictures of book/figures when one is missing or old. It knows nothing of what they show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from .results import RESULTS

LOG = logging.getLogger(__name__)
FIGURES = Path("_build/figures")  # pages refer to /_build/figures/NAME.svg


def stale_figures(root: Path) -> list[str]:
    """Return the figures whose picture is missing, or older than its script, a shared script, or a record it reads."""
    scripts = sorted((root / "book/figures").glob("*.py"))
    shared = [p for p in scripts if p.stem.startswith("_")]
    stale = []
    for script in scripts:
        if script in shared:
            continue
        text = script.read_text("utf8")
        records = [p for p in (root / RESULTS).glob("*.json") if f'"{p.stem}"' in text]
        picture = root / FIGURES / f"{script.stem}.svg"
        newest = max(p.stat().st_mtime for p in [script, *shared, *records])
        if not picture.exists() or picture.stat().st_mtime < newest:
            stale.append(script.stem)
    return stale


def draw_figures(app: Sphinx) -> None:
    """Run the scripts of book/figures whose picture is stale."""
    root = Path(app.srcdir)
    stale = stale_figures(root)
    if not stale:
        return
    command = [sys.executable, str(root / "book/figures"), str(root / FIGURES), *stale]
    run = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    if run.returncode:
        LOG.warning("%s", run.stderr.strip() or f"{' '.join(command)} ended with {run.returncode}")
