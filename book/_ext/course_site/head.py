"""Writes what others show of a page: its description, the card of a shared link, the day of its last change.

The day comes from git. Outside a repository, and in a shallow clone, where git would name the same day for every page,
there is none.
"""

from __future__ import annotations

import re
import subprocess
import textwrap
from datetime import date
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .cards import CARD_SIZE, card_name

LONGEST_DESCRIPTION = 200  # letters; what shows it cuts there


def description(doctree: nodes.document) -> str:
    """Return the first paragraph of the page as plain text, cut at a word; one without formulas if there is one."""
    found = [p for p in doctree.findall(nodes.paragraph) if isinstance(p.parent, nodes.section | nodes.document)]
    plain = [p for p in found[:3] if not list(p.findall(nodes.math))]
    if not found:
        return ""
    text = " ".join((plain or found)[0].astext().split())
    return textwrap.shorten(re.sub(r"[\\{}$]", "", text), LONGEST_DESCRIPTION, placeholder=" ...")


def head_tags(*, title: str, site: str, text: str, url: str, image: str, changed: date | None) -> str:
    """Return the tags of the page's head: description and Open Graph."""
    width, height = CARD_SIZE
    said = {
        "og:type": "article",
        "og:site_name": site,
        "og:title": title,
        "og:description": text,
        "og:url": url,
        "og:image": image,
        "og:image:width": str(width),
        "og:image:height": str(height),
        "og:image:alt": f"{title} - {site}",
        "article:modified_time": changed.isoformat() if changed else "",
    }
    tags = [f'<meta property="{key}" content="{escape(value)}" />' for key, value in said.items() if value]
    named = {"description": text, "twitter:card": "summary_large_image"}
    return "\n".join(
        tags + [f'<meta name="{key}" content="{escape(value)}" />' for key, value in named.items() if value]
    )


def ask_git(root: Path, *words: str) -> str | None:
    """Return what git prints, or nothing where there is no git or it refuses."""
    try:
        run = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout if run.returncode == 0 else None


@cache
def days_of_change(root: Path) -> dict[str, date]:
    """Return the day of the last commit of each file below the root, by its path; empty where git cannot know."""
    if (ask_git(root, "rev-parse", "--is-shallow-repository") or "").strip() != "false":
        return {}
    log = (
        ask_git(root, "-c", "core.quotePath=off", "log", "--format=%x00%cs", "--name-only", "--relative", "--", ".")
        or ""
    )
    days: dict[str, date] = {}
    for commit in log.split("\0")[1:]:
        day, *names = commit.split("\n")
        for name in filter(None, names):
            days.setdefault(name, date.fromisoformat(day))  # the newest commit comes first
    return days


def describe_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Put description, card and day of change into what the page is written from.

    Addresses are whole where `html: baseurl` of _config.yml gives the site's own, and relative without.
    """
    if doctree is None:
        return
    base = app.config.html_baseurl
    image = f"_static/cards/{card_name(pagename)}"
    changed = days_of_change(Path(app.srcdir)).get(Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix())
    context["metatags"] = context.get("metatags", "") + head_tags(
        title=app.env.titles[pagename].astext(),
        site=app.config.html_title or app.config.project,
        text=description(doctree),
        url=context.get("pageurl") or "",
        image=base.rstrip("/") + "/" + image if base else context["pathto"](image, 1),
        changed=changed,
    )
    context["last_updated"] = f"{changed.day} {changed:%B %Y}" if changed else None
