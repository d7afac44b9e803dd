"""Puts the experiments' numbers and tables into the pages: {{ NAME.key }} stands for one of NAME's record. It runs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

LOG = logging.getLogger(__name__)
RESULTS = Path("book/experiments/results")
PLACE = re.compile(r"\{\{ ([a-z_]+)\.([a-z0-9_]+) \}\}")


def filled(root: Path, text: str, complain: Callable[[str], None]) -> tuple[str, set[Path]]:
    """Return the text with each {{ NAME.key }} replaced, and the records that were read; a place without a value stays."""
    read: set[Path] = set()

    def look_up(place: re.Match[str]) -> str:
        path = root / RESULTS / f"{place[1]}.json"
        if path.exists():
            read.add(path)
            record = json.loads(path.read_text("utf8"))
            sentences = {key: record[key] for key in ("question", "expected")}
            said = {**record["numbers"], **record["tables"], **sentences}
            if place[2] in said:
                return str(said[place[2]])
            why = f"has no {place[2]}; it has {', '.join(said)}"
        else:
            why = f"does not exist; run: python book/experiments {place[1]}"
        complain(f"{place[0]} cannot be inserted: {path.name} {why}.")
        return place[0]

    return PLACE.sub(look_up, text), read


def insert_results(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill the places of a page that is being read, and read it anew when one of its records changes."""
    source[0], read = filled(Path(app.srcdir), source[0], lambda why: LOG.warning("%s", why, location=docname))
    for path in read:
        app.env.note_dependency(str(path))
