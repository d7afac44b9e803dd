"""Draws the card that a shared link shows: a page's title beside three grids, 1200 by 630 pixels.

A card is drawn once and kept in _build/cards under a name made from its title and this file.
"""

from __future__ import annotations

import hashlib
import shutil
import textwrap
from pathlib import Path

from sphinx.application import Sphinx

CARD_SIZE = (1200, 630)
CARDS = Path("_build/cards")
BLUE, PALE, INK = "#0b57d0", "#d6e3f8", "#10233f"
# which cells of a 4 x 6 grid (examples down, channels across) share a mean with the marked one
GRIDS = {
    "batch": {(row, 2) for row in range(4)},
    "layer": {(1, column) for column in range(6)},
    "group": {(1, column) for column in (0, 1, 2)},
}


def card_name(pagename: str) -> str:
    """Return the file name of a page's card."""
    return pagename.replace("/", "-") + ".png"


def draw_card(title: str, site: str, path: Path) -> None:
    """Draw one card."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch, Rectangle

    width, height = CARD_SIZE
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    axes.add_patch(Rectangle((0, 0), 24, height, color=BLUE))
    axes.text(84, height - 84, site, fontsize=20, color=BLUE, weight="bold", va="center")
    size, letters = (44, 17) if len(title) <= 44 else (36, 21)
    axes.text(
        84, 300, textwrap.fill(title, letters), fontsize=size, color=INK, weight="bold", va="center", linespacing=1.3
    )
    axes.text(84, 72, "Which numbers share a mean?", fontsize=20, color=INK, va="center")
    for place, (name, marked) in enumerate(GRIDS.items()):
        left, top = 888, height - 66 - 182 * place
        for row in range(4):
            for column in range(6):
                corner = (left + 36 * column, top - 34 * (row + 1))
                color = BLUE if (row, column) in marked else PALE
                shape = "round,pad=0,rounding_size=5"
                axes.add_patch(FancyBboxPatch(corner, 31, 29, boxstyle=shape, color=color, linewidth=0))
        axes.text(left - 16, top - 68, name, fontsize=17, color=INK, ha="right", va="center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def write_cards(app: Sphinx, error: Exception | None) -> None:
    """Put a card for each page into the site."""
    if error or app.builder.format != "html":
        return
    site = app.config.html_title or app.config.project
    design = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    folder = Path(app.outdir) / "_static/cards"
    folder.mkdir(parents=True, exist_ok=True)
    for pagename, title in app.env.titles.items():
        key = hashlib.sha256(f"{design}\0{site}\0{title.astext()}".encode()).hexdigest()[:20]
        card = Path(app.srcdir) / CARDS / f"{key}.png"
        if not card.exists():
            draw_card(title.astext(), site, card)
        shutil.copyfile(card, folder / card_name(pagename))
