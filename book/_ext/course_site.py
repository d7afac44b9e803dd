"""What the course's website adds to Jupyter Book 1.x: figures, marks on graded cells, mended theme HTML, a stamp.

It holds no content and no directive of its own, so that the pages stay plain MyST. The repairs of the
theme's HTML are bound to the theme version pinned in the constraints; tests/book fails when one stops working.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

STAMP = "course-site.sha256"
SOURCES = ("_config.yml", "_toc.yml", "book", "labs")
FIGURES = Path("_build/figures")  # pages refer to /_build/figures/NAME.svg


def source_digest(root: Path, sources: tuple[str, ...] = SOURCES) -> str:
    """Return the hash of the files at or below the sources: by default, of everything that the site is made from."""
    digest = hashlib.sha256()
    for source in sources:
        top = root / source
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if not path.is_file() or "__pycache__" in path.parts or ".ipynb_checkpoints" in path.parts:
                continue
            digest.update(f"{path.relative_to(root)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def note_assets(app: Sphinx, config: Config) -> None:
    """Make a change of a style, a figure or this file rewrite the pages; Sphinx copies assets only with pages."""
    config["course_site_assets"] = source_digest(Path(app.srcdir), ("book/_ext", "book/_static", "book/figures"))


def draw_figures(app: Sphinx) -> None:
    """Run book/figures when a picture is missing or older than a script."""
    root = Path(app.srcdir)
    (Path(app.outdir) / STAMP).unlink(missing_ok=True)  # an unfinished build must not look fresh
    scripts = list((root / "book/figures").glob("*.py"))
    drawn = [root / FIGURES / f"{p.stem}.svg" for p in scripts if not p.stem.startswith("_")]
    newest = max(p.stat().st_mtime for p in scripts)
    if all(p.exists() and p.stat().st_mtime >= newest for p in drawn):
        return
    command = [sys.executable, str(root / "book/figures"), str(root / FIGURES)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    if run.returncode:
        raise ExtensionError(f"A figure could not be drawn by {' '.join(command)}:\n{run.stderr}")


def mark_graded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Say above each graded cell of a lab what it is worth, and above each solution cell that it is the student's."""
    for cell in doctree.findall(nodes.container):
        about = cell.get("cell_metadata", {}).get("nbgrader")
        if not about:
            continue
        if about.get("grade"):
            points = about["points"]
            kind, text = "graded", f"Graded: {about['grade_id']}, {points:g} point{'s' * (points != 1)}"
        elif about.get("solution"):
            kind, text = "solution", "Your code goes here"
        else:
            continue
        cell["classes"].append(f"lab-{kind}")
        cell.insert(0, nodes.paragraph("", text, classes=["lab-mark"]))
    for paragraph in doctree.findall(nodes.paragraph):
        if paragraph.astext() == "YOUR ANSWER HERE":
            paragraph["classes"].append("lab-answer")


def mend_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Keep each script once, no Thebe and no icon script; mend roles in the body; launch only real notebooks."""
    seen: set[tuple[str, str | None]] = set()
    scripts = []
    for script in context.get("script_files", []):
        key = (str(getattr(script, "filename", script)), getattr(script, "attributes", {}).get("body"))
        text = " ".join(str(part) for part in key)
        if key in seen or "thebe" in text.lower():
            continue
        seen.add(key)
        scripts.append(script)
    context["script_files"] = scripts
    if not context.get("page_source_suffix", "").endswith("ipynb"):  # Colab cannot open a Markdown page
        buttons = context.get("header_buttons", [])
        context["header_buttons"] = [b for b in buttons if b.get("label") != "launch-buttons"]
    body = context.get("body")
    if body:
        body = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')
        body = body.replace(' role="doc-biblioentry"', "")
        body = body.replace('<th class="head"><p></p></th>', "<td></td>")  # a table's empty corner heads nothing
        context["body"] = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")


def mend_pages(app: Sphinx, error: Exception | None) -> None:
    """Mend what the theme's templates write, then stamp a build that finished without a warning."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for page in out.rglob("*.html"):
        old = page.read_text("utf8")
        # a label that differs from the visible words hides them from voice control
        new = re.sub(r'(<button class="btn search-button-field[^>]*?) aria-label="Search"', r"\1", old)
        new = re.sub(r'(<i class="theme-switch [^>]*?)\s+title="[^"]*"', r"\1", new)
        new = re.sub(r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>\s*', "", new)  # 1.5 MB unused
        new = new.replace(
            '<div class="sidebar-primary-items__start',
            '<div role="navigation" aria-label="Book" class="sidebar-primary-items__start',
        )
        if new != old:
            page.write_text(new, "utf8")
    if app._warncount:  # warnings come up when a page is read: forget the reading, or the next build would be silent
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)
    else:
        (out / STAMP).write_text(source_digest(Path(app.srcdir)), "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the functions above to the build."""
    app.add_config_value("course_site_assets", "", "html", str)
    app.connect("config-inited", note_assets)
    app.connect("builder-inited", draw_figures)
    app.connect("doctree-read", mark_graded_cells)
    app.connect("html-page-context", mend_context, priority=900)
    app.connect("build-finished", mend_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
