"""Reads what an experiment measured; draws nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "experiments/results"


def record(name: str) -> dict[str, Any]:
    """Return the committed record of book/experiments/NAME.py: settings, seeds, values."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf8"))
    return found
