"""Turns MyST into Markdown that any notebook program shows: roles, directives, labels, links. It runs no code.

A directive that is not known here is an error, so that no chapter loses a part in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,}|~{3,})(?:\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*))?(?P<rest>.*)$")
OPTION = re.compile(r"^:(?P<key>[\w-]+):\s*(?P<value>.*)$")
LABEL = re.compile(r"^\(([\w:-]+)\)=$")
HEADING = re.compile(r"^#{1,6} +(.*)$")
# what is looked at inside a line, in this order: a role, code, a formula, a link, a word with attributes
INLINE = re.compile(
    r"\{(?P<role>[\w:]+)\}`(?P<content>[^`]+)`"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<formula>\$[^$]+\$)"
    r"|(?<!!)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)"
    r"|\[(?P<marked>[^\[\]]+)\]\{[^{}]*\}"
)
BOXES = {
    "admonition",
    "attention",
    "caution",
    "danger",
    "error",
    "hint",
    "important",
    "margin",
    "note",
    "seealso",
    "sidebar",
}
BOXES |= {"tip", "warning"}
FLAT = {"card", "div", "glossary", "grid", "grid-item", "grid-item-card", "tab-item", "tab-set", "table", "toggle"}
SILENT = {"bibliography", "contents", "exercise-end", "solution-end", "tableofcontents", "toctree"}


@dataclass(frozen=True)
class Site:
    """What the text refers to outside itself."""

    base: str  # address of the site, ending in a slash
    page: str  # the page itself, as book/core-concepts
    titles: Mapping[str, str] = field(default_factory=dict)  # by page, as book/notation
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # page and heading, by label
    works: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # authors and year, by key of the bibliography
    values: Mapping[str, object] = field(default_factory=dict)  # results of the run, by name, where there was one

    def address(self, page: str, label: str = "") -> str:
        """Return the address of a page, or of a place in it."""
        return f"{self.base}{page}.html" + (f"#{label}" if label else "")


def cited(site: Site, role: str, keys: str) -> str:
    """Return a citation in words, as authors (year) or (authors, year)."""
    works = [site.works[key.strip()] for key in keys.split(",")]
    link = f"]({site.address('book/bibliography')})"
    if role == "cite:t":
        return ", ".join(f"[{authors} ({year}){link}" for authors, year in works)
    return "(" + "; ".join(f"[{authors}, {year}{link}" for authors, year in works) + ")"


def pasted(site: Site, content: str) -> str:
    """Return a result of the run, formatted; without a run, its name, under which its cell prints it."""
    name, _, form = content.partition(":")
    if name not in site.values:
        return f"`{name}`"
    return format(site.values[name], form)


def linked(site: Site, text: str, target: str) -> str:
    """Return a link that works outside the site; its text is the target's heading where it has none."""
    if "://" in target or target.startswith("mailto:"):
        return f"[{text}]({target})"
    path, _, label = target.partition("#")
    if not path:
        page, heading = site.labels.get(label, (site.page, label))
        return f"[{text or heading}]({site.address(page, label)})"
    parts: list[str] = site.page.split("/")[:-1] if not path.startswith("/") else []
    for part in path.strip("/").split("/"):
        parts = parts[:-1] if part == ".." else [*parts, part]
    page = re.sub(r"\.(md|ipynb)$", "", "/".join(parts))
    return f"[{text or site.titles.get(page, page)}]({site.address(page, label)})"


def spoken_role(site: Site, role: str, content: str) -> str:
    """Return what a role stands for."""
    words = re.fullmatch(r"(.*?)\s*<(.*)>", content)
    text, target = (words[1], words[2]) if words else ("", content)
    if role.startswith("cite"):
        return cited(site, role, content)
    if role == "glue:text":
        return pasted(site, content)
    if role == "eq":
        return f"({target})"  # the formula carries its label as a tag
    if role in ("ref", "numref"):
        return linked(site, text.replace("{number}", "").replace("%s", "").strip(), f"#{target}")
    if role in ("term", "abbr"):
        return text or target
    if role == "doc":
        return linked(site, text, f"{target}.md")
    if role == "math":
        return f"${content}$"
    raise ValueError(f"{site.page}: the role {{{role}}} has no form in a notebook; add it to {__name__}.")


def inline(site: Site, line: str) -> str:
    """Return a line of text with its roles and links in plain Markdown; code and formulas stay."""

    def translate(found: re.Match[str]) -> str:
        if found["role"]:
            return spoken_role(site, found["role"], found["content"])
        if found["target"]:
            return linked(site, inline(site, found["text"]) if found["text"] else "", found["target"])
        if found["marked"]:
            return f"*{found['marked']}*"
        return found[0]

    return INLINE.sub(translate, line)


def boxed(title: str, lines: list[str]) -> list[str]:
    """Return lines as a quotation under a title."""
    return [f"> {line}".rstrip() for line in [*([f"**{title}**", ""] if title else []), *lines]]


def folded(title: str, lines: list[str]) -> list[str]:
    """Return lines that open on a click."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>"]


def spoken_directive(site: Site, name: str, argument: str, options: Mapping[str, str], lines: list[str]) -> list[str]:
    """Return what a directive stands for, as lines of Markdown."""
    if name in SILENT:
        return []
    if name in ("raw", "embed"):
        return [f"*Here the [page]({site.address(site.page)}) has a figure that you can use.*"] if lines else []
    if name in ("figure", "image"):
        picture = f"![{options.get('alt', '')}]({site.base}_images/{argument.rsplit('/', 1)[-1]})"
        return [picture, "", *plain_lines(site, lines)]
    if name == "math":
        label = options.get("label")
        return ["$$", *lines, *([rf"\tag{{{label}}}"] if label else []), "$$"]
    if name in ("code-block", "code"):
        return [f"```{argument}", *lines, "```"]
    if name == "literalinclude":
        return [f"*Here the [page]({site.address(site.page)}) shows code from {argument.rsplit('/', 1)[-1]}.*"]
    content, title = plain_lines(site, lines), inline(site, argument)
    if name in ("exercise", "exercise-start"):
        return ["", f"**Exercise{': ' if title else ''}{title}**", "", *content]
    if name in ("solution", "solution-start"):
        return folded("Solution", content) if name == "solution" else ["**Solution**", "", *content]
    if name == "dropdown":
        return folded(title or "More", content)
    if name in BOXES:
        return boxed(title or name.capitalize(), content)
    if name.startswith("prf:"):
        return boxed(f"{name[4:].capitalize()}{': ' if title else ''}{title}", content)
    if name in FLAT:
        return [*([f"**{title}**", ""] if title and name not in ("grid", "div") else []), *content]
    raise ValueError(f"{site.page}: the directive {{{name}}} has no form in a notebook; add it to {__name__}.")


def split_options(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return a directive's options and its content."""
    options: dict[str, str] = {}
    for place, line in enumerate(lines):
        found = OPTION.match(line)
        if not found:
            return options, lines[place + (not line.strip()) :]
        options[found["key"]] = found["value"]
    return options, []


def closing(lines: list[str], start: int, fence: str) -> int:
    """Return the number of the line that closes a fence; of the end where none does."""
    same: Callable[[str], bool] = lambda line: len(line) >= len(fence) and set(line) == {fence[0]}  # noqa: E731
    return next((k for k in range(start, len(lines)) if same(lines[k].strip())), len(lines))


def plain_lines(site: Site, lines: list[str]) -> list[str]:
    """Return lines of MyST as lines of Markdown."""
    out: list[str] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        fence = FENCE.match(line.strip()) if not line.startswith("    ") else None
        if fence:
            end = closing(lines, place, fence["fence"])
            inner = lines[place:end]
            place = end + 1
            if fence["name"]:
                out += spoken_directive(site, fence["name"], fence["argument"], *split_options(inner))
            else:
                out += [line, *inner, fence["fence"]]
        elif line.lstrip().startswith("$$"):
            end = place if line.count("$$") == 2 else next(k for k in range(place, len(lines)) if "$$" in lines[k]) + 1
            text = "\n".join([line, *lines[place:end]])
            place = end
            out += re.sub(r"\$\$ *\(([\w:-]+)\)$", r"\\tag{\1}$$", text).splitlines()
        elif not (LABEL.match(line) or line.startswith("% ") or line.strip() in ("+++", "%")):
            out.append(inline(site, line))
    return out


def plain(site: Site, text: str) -> str:
    """Return MyST text as Markdown, with at most one empty line in a row."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(plain_lines(site, text.splitlines()))).strip()
