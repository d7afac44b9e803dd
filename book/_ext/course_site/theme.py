"""Mends what the theme writes: scripts that no page needs, buttons that lead nowhere, roles and labels. It adds no text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .notebooks import notebook_of

COMPONENTS = ("norm-explorer", "running-statistics")  # each has its script, which a page without it does not need


def mend_scripts(scripts: list[Any], body: str) -> list[Any]:
    """Return the scripts without doubles, without those of components that the page lacks, and without Thebe.

    The theme loads Thebe although it is switched off.
    """
    absent = [f"{name}.js" for name in COMPONENTS if f"<{name}" not in body]
    seen: set[tuple[str, str | None]] = set()
    kept = []
    for script in scripts:
        key = (str(getattr(script, "filename", script)), getattr(script, "attributes", {}).get("body"))
        if key in seen or "thebe" in " ".join(str(part) for part in key).lower() or any(map(key[0].endswith, absent)):
            continue
        seen.add(key)
        kept.append(script)
    return kept


def mend_buttons(buttons: list[dict[str, Any]], pagename: str) -> list[dict[str, Any]]:
    """Return the header's buttons with Colab and Binder leading to a notebook, and without an edit of a made file.

    A chapter is Markdown, which Colab cannot open; its notebook lies in book/notebooks. A lab's page is made from a
    file that holds the solutions, so that nothing should lead a reader there.
    """
    is_lab = pagename.startswith("labs/")
    kept = []
    for button in buttons:
        inner = button.get("buttons", [])
        if button.get("label") == "launch-buttons":
            inner = [{**b, "url": b["url"].replace(f"{pagename}.md", notebook_of(pagename))} for b in inner]
        if is_lab:
            inner = [b for b in inner if b.get("label") != "source-edit-button"]
        kept.append({**button, "buttons": inner} if "buttons" in button else button)
    return kept


def mend_body(body: str) -> str:
    """Return a page's text with roles that axe accepts."""
    body = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')
    body = body.replace(' role="doc-biblioentry"', "")
    body = body.replace('<th class="head"><p></p></th>', "<td></td>")  # a table's empty corner heads nothing
    return body.replace('<summary aria-label="Toggle hidden content">', "<summary>")


def mend_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Mend what a page is written from."""
    context["script_files"] = mend_scripts(context.get("script_files", []), context.get("body") or "")
    context["header_buttons"] = mend_buttons(context.get("header_buttons", []), pagename)
    if context.get("body"):
        context["body"] = mend_body(context["body"])


# what search finds is shown as text: of a formula its letters if that is all it has, or three dots, and never its TeX
PLAIN_EXCERPTS = r"""<script>{
  const whole = Search.htmlToText, letters = /^[\w\s=<>+\-/.,()]*$/;
  Search.htmlToText = (...page) => whole(...page).replace(/\\\[[^]*?\\\]/g, " … ")
    .replace(/\\\(([^]*?)\\\)/g, (_, tex) => (letters.test(tex) ? tex : "…"));
}</script>"""


def mend_html(text: str, *, is_search: bool = False) -> str:
    """Return a written page with labels that agree with the visible words, and without scripts that it does not use.

    The whole search index would be loaded with each page, to search while one types; that is off.
    """
    # a label that differs from the visible words hides them from voice control
    text = re.sub(r'(<button class="btn search-button-field[^>]*?) aria-label="Search"', r"\1", text)
    text = re.sub(r'(<i class="theme-switch [^>]*?)\s+title="[^"]*"', r"\1", text)
    text = re.sub(r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>\s*', "", text)  # 1.5 MB
    if is_search:
        tool = re.compile(r'<script src="[^"]*searchtools\.js[^"]*"></script>(?!<script>)')
        text = tool.sub(lambda tag: tag[0] + PLAIN_EXCERPTS, text)
    else:
        text = re.sub(r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>\s*', "", text)
    return text.replace(
        '<div class="sidebar-primary-items__start',
        '<div role="navigation" aria-label="Book" class="sidebar-primary-items__start',
    )


def mend_pages(app: Sphinx, error: Exception | None) -> None:
    """Mend the pages that the theme's templates wrote."""
    if error or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        old = page.read_text("utf8")
        new = mend_html(old, is_search=page.name == "search.html")
        if new != old:
            page.write_text(new, "utf8")
