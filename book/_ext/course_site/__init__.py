"""What the course's website adds to Jupyter Book 1.x. This file connects it to the build and stamps a clean one.

It holds no content and no directive of its own, so that the pages stay plain MyST:

    figures    draws the pictures of book/figures that are missing or old
    results    puts the experiments' numbers and tables into the pages
    components writes what the two components show without JavaScript
    labs       says on a lab's page which cells are graded, and for how much
    breaks     keeps a formula on one line with the comma or bracket beside it
    theme      mends what the theme writes, and drops what no page needs
    icons      keeps of the theme's icons those that are shown
    head       descriptions, cards for links that are shared, dates of change
    cards      draws those cards
    lost       the page for an address that does not exist
    plain      MyST as Markdown that any notebook program shows
    notebooks  chapters as notebooks: downloads, and book/notebooks
    seed_map   where each section of the three first texts has gone

The repairs are bound to the theme version pinned in the constraints; tests/book fails when one stops working.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from . import breaks, cards, components, figures, head, icons, labs, lost, notebooks, results, theme

STAMP = "course-site.sha256"
SOURCES = ("_config.yml", "_toc.yml", "book", "labs", "solutions/reference")
MADE = {"__pycache__", ".ipynb_checkpoints", "notebooks"}  # folders that hold nothing a page is made from


def source_digest(root: Path, sources: tuple[str, ...] = SOURCES) -> str:
    """Return the hash of the files at or below the sources: by default, of everything that the site is made from.

    Dates of change are not among it: they come from git, which a commit changes and no page does.
    """
    digest = hashlib.sha256()
    for source in sources:
        top = root / source
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if not path.is_file() or MADE & set(path.relative_to(root).parts):
                continue
            digest.update(f"{path.relative_to(root)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def note_assets(app: Sphinx, config: Config) -> None:
    """Make a change of a style, a figure or this package rewrite the pages; Sphinx copies assets only with pages."""
    config["course_site_assets"] = source_digest(Path(app.srcdir), ("book/_ext", "book/_static", "book/figures"))


def share_cache(app: Sphinx, config: Config) -> None:
    """Keep what the pages' code printed in one place for both editions, so that it runs once."""
    config["nb_execution_cache_path"] = str(Path(app.srcdir) / "_build/.jupyter_cache")


def forget_stamp(app: Sphinx) -> None:
    """Take the stamp away, for an unfinished build must not look fresh."""
    (Path(app.outdir) / STAMP).unlink(missing_ok=True)


def stamp(app: Sphinx, error: Exception | None) -> None:
    """Stamp a build that finished without a warning; after one with a warning, forget what was read.

    Warnings come up when a page is read: if the reading were kept, the next build would be silent.
    """
    if error or app.builder.format != "html":
        return
    if app._warncount:
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)
    else:
        (Path(app.outdir) / STAMP).write_text(source_digest(Path(app.srcdir)), "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the functions of this package to the build."""
    app.add_config_value("course_site_assets", "", "html", str)
    app.connect("config-inited", note_assets)
    app.connect("config-inited", share_cache)
    app.connect("builder-inited", forget_stamp)
    app.connect("builder-inited", figures.draw_figures)
    app.connect("source-read", results.insert_results)
    app.connect("source-read", components.insert_fallbacks)
    app.connect("doctree-read", labs.mark_graded_cells)
    app.connect("doctree-read", breaks.keep_marks)
    app.connect("html-page-context", theme.mend_context, priority=900)  # after the theme's own
    app.connect("html-page-context", head.describe_page, priority=900)
    app.connect("html-page-context", notebooks.rewrite_download, priority=900)
    app.connect("build-finished", theme.mend_pages)
    app.connect("build-finished", cards.write_cards)
    app.connect("build-finished", lost.write_page)
    app.connect("build-finished", icons.trim_icons, priority=800)  # when all pages and style sheets are there
    app.connect("build-finished", stamp, priority=900)  # last
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
