"""Draw every figure of the book: `python book/figures FOLDER` writes one SVG per module into FOLDER.

A figure is a module here with `draw() -> Figure`; its file name is the picture's. Modules whose name starts with
an underscore are not figures. The site's build runs this file; pictures are not committed.
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


def main(folder: Path) -> None:
    """Draw each figure into the folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for script in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        figure = importlib.import_module(script.stem).draw()
        figure.savefig(folder / f"{script.stem}.svg", metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("One folder is needed for the pictures: python book/figures FOLDER")
    main(Path(sys.argv[1]))
