"""Markdown to HTML that is safe to show, whoever wrote it.

nbconvert passes raw HTML, `javascript:` links and remote pictures of a student's text on to the page, and formgrader
shows that page to the instructor. This filter stands in the place of nbconvert's `markdown2html` (see
`c.HTMLExporter.filters`) and makes the texts of the feedback pages: a list of allowed tags, links to http, https and
mailto, and pictures only from the cell itself. No id, class or style of the student's gets through, since formgrader's
own script goes by them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import bleach
from jinja2 import pass_context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

MAX_CHARS = 100_000  # of one text; what is longer is cut, not parsed
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
LINK = re.compile(r"(https?://|mailto:|#)[^\s\"'<>]*", re.IGNORECASE)
CODE_CLASS = re.compile(r"highlight|[a-z][a-z0-9]?")  # what pygments writes
TEXT_TAGS = ("a", "b", "br", "code", "del", "em", "i", "img", "kbd", "s", "span", "strong", "sub", "sup", "u")
BLOCK_TAGS = ("blockquote", "dd", "details", "div", "dl", "dt", "hr", "li", "ol", "p", "pre", "summary", "ul")
TABLE_TAGS = ("table", "tbody", "td", "th", "thead", "tr")
TAGS = frozenset((*TEXT_TAGS, *BLOCK_TAGS, *TABLE_TAGS, "h1", "h2", "h3", "h4", "h5", "h6"))


class PlainRenderer(IPythonRenderer):
    """nbconvert's renderer, in which a picture is one that was pasted into the cell, or a few words."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Write a picture; a missing one is not an error that ends the page."""
        bundle = self.attachments.get(url.removeprefix("attachment:"), {}) if url.startswith("attachment:") else {}
        for mime, data in bundle.items():
            source = f"data:{mime};base64,{data}"
            if PICTURE.fullmatch(source):
                return f'<img src="{source}" alt="{html.escape(text)}">'
        return f"[{html.escape(text or 'a picture')}, not shown]"


def safe_html(markdown: str, attachments: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Return a text as HTML without anything that runs, loads or imitates; never raises for what the text holds."""
    text = markdown if len(markdown) <= MAX_CHARS else markdown[:MAX_CHARS] + "\n\n(The text goes on; it was cut here.)"
    renderer = PlainRenderer(
        escape=False,
        attachments={name: dict(bundle) for name, bundle in (attachments or {}).items()},
        exclude_anchor_links=True,
    )
    try:
        raw = MarkdownWithMath(renderer=renderer).render(text)
        cleaned: str = bleach.clean(raw, TAGS, _allowed, protocols=["http", "https", "mailto", "data"])
    except (RecursionError, ValueError, TypeError, IndexError, KeyError, AttributeError):
        return f"<pre>{html.escape(text)}</pre>"  # a parser that gives up still leaves something to grade
    return cleaned


@pass_context
def markdown2html(context: Mapping[str, Any], source: str) -> str:
    """The jinja filter: `safe_html` with the pictures of the cell at hand."""
    cell = context.get("cell") or {}
    return safe_html(source, cell.get("attachments"))


def _allowed(tag: str, name: str, value: str) -> bool:
    if tag == "a" and name == "href":
        return LINK.fullmatch(value) is not None
    if tag == "img":
        return name == "alt" or (name == "src" and PICTURE.fullmatch(value) is not None)
    if tag in ("span", "div") and name == "class":
        return CODE_CLASS.fullmatch(value) is not None
    return (tag, name) in {("ol", "start"), ("details", "open"), ("td", "colspan"), ("th", "colspan"), ("a", "title")}
