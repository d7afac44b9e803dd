"""Does a page of the book exist, with the section that a link names? Read from the book's sources; nothing is built or fetched.

A page is written as the website has it, "book/epsilon.html#under-the-root". It is sound when book/epsilon.md is listed in
_toc.yml and holds the label `(under-the-root)=` or a heading whose address is that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = re.compile(r"book/([\w-]+)\.html#([\w-]+)")


def page_fault(course: Path, page: str) -> str | None:
    """Return what is wrong with a page that somebody links to, and what to do; None when it is there."""
    match = PAGE.fullmatch(page)
    if match is None:
        return f"{page!r} is not of the form book/NAME.html#SECTION; write it so"
    name, section = match.groups()
    source = course / "book" / f"{name}.md"
    if not source.is_file():
        return (
            f"book/{name}.md does not exist; write that page or link to one of: {', '.join(_pages(course)) or 'none'}"
        )
    if f"book/{name}" not in listed(course):
        return (
            f"book/{name} is not listed in _toc.yml, so the website will not have it; list it or link to another page"
        )
    there = list(dict.fromkeys(sections(source.read_text(encoding="utf-8"))))
    if section not in there:
        return f"book/{name}.md has no section {section!r}; it has: {', '.join(there) or 'none'}"
    return None


def listed(course: Path) -> frozenset[str]:
    """Return the pages that _toc.yml names, as paths without a suffix; none where there is no such file."""
    toc = course / "_toc.yml"
    text = toc.read_text(encoding="utf-8") if toc.is_file() else ""
    entries = re.findall(r"^[ \t]*(?:-[ \t]*)?(?:file|root):[ \t]*['\"]?([^'\"#\s]+)", text, flags=re.MULTILINE)
    return frozenset(entry.removesuffix(".md").removesuffix(".ipynb") for entry in entries)


def sections(text: str) -> Iterator[str]:
    """Yield the labels and the headings' addresses of a page, outside its code."""
    for line in outside_code(text):
        label = re.fullmatch(r"\(([\w-]+)\)=\s*", line)
        heading = re.fullmatch(r"#{1,6}\s+(.+?)\s*#*", line)
        if label:
            yield label[1]
        elif heading:
            yield re.sub(r"[^a-z0-9]+", "-", heading[1].lower()).strip("-")


def outside_code(text: str) -> Iterator[str]:
    """Yield the lines of a Markdown text that stand in no fenced block."""
    fence = ""
    for line in text.splitlines():
        opening = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if opening and opening[1].startswith(fence) and line.strip() == opening[1]:
                fence = ""
        elif opening:
            fence = opening[1]
        else:
            yield line


def _pages(course: Path) -> list[str]:
    return sorted(path.stem for path in (course / "book").glob("*.md"))
