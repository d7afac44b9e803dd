"""Draw the figures of the book: `python book/figures FOLDER [NAME ...]` writes one SVG per module into FOLDER.

A figure is a module here with `draw() -> Figure`; its file name is the picture's. Modules whose name starts with
an underscore are not figures. A figure of an experiment reads its record (`_record.py`) and measures nothing.
The site's build runs this file for the pictures that are missing or old; pictures are not committed.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
# Black on nothing: the style sheet turns a picture round in the dark. 11 points in 4.5 inches can be read on a phone.
mpl.rcParams.update(
    {
        "axes.facecolor": "none",
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.facecolor": "none",
        "font.size": 11,
        "hatch.linewidth": 0.8,
        "legend.frameon": False,
        "savefig.transparent": True,
        "svg.hashsalt": "normalization",
    }
)


def main(folder: Path, wanted: list[str]) -> int:
    """Draw the figures named, or all, into the folder, which is made if it is missing; return how many could not be drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in wanted or sorted(script.stem for script in Path(__file__).parent.glob("[a-z]*.py")):
        try:
            figure = importlib.import_module(name).draw()
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        except Exception as error:  # the others can still be drawn
            failed += 1
            print(f"{name}.py could not be drawn: {type(error).__name__}: {error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("A folder is needed for the pictures: python book/figures FOLDER [NAME ...]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]) > 0)
