"""Leaves of the theme's two thousand icons those that the site shows: two fonts of some kilobytes in place of 270.

An icon is a class in a page or in a script (fa-bars), or a character in a style sheet. Other rules are not looked at.
"""

from __future__ import annotations

import re
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

STYLE = "styles/pydata-sphinx-theme.css"
FONTS = "vendor/fontawesome/webfonts"
NAMED = re.compile(r'((?:\.fa-[\w-]+:{1,2}before,?)+)\{content:"\\[0-9a-f]+"\}')
NAME = re.compile(r"\bfa-[a-z0-9-]+")
CHARACTER = re.compile(r'"\\([ef][0-9a-f]{3})"|([\ue000-\uf8ff])')  # written as a code, or as itself
SOURCE = re.compile(r'url\(([^()]*/)([\w-]+)\.woff2\) format\("woff2"\),url\([^()]*\.ttf\) format\("truetype"\)')


def shown_names(out: Path) -> set[str]:
    """Return the names of the icons in the pages and in the theme's own scripts."""
    scripts = [p for p in (out / "_static").rglob("*.js") if "vendor" not in p.parts and p.name != "fontawesome.js"]
    pages = [p for p in out.rglob("*.html") if "_static" not in p.parts]
    return {name for path in [*pages, *scripts] for name in NAME.findall(path.read_text("utf8"))}


def trimmed(style: str, names: set[str]) -> str:
    """Return the style sheet without the icons that have another name, and with the small fonts."""
    style = NAMED.sub(lambda rule: rule[0] if names & set(NAME.findall(rule[1])) else "", style)
    return SOURCE.sub(r'url(\1\2.woff) format("woff")', style)


def write_font(font: Path, characters: set[int]) -> None:
    """Write beside a TrueType font, as WOFF, the part of it that has the characters."""
    options = subset.Options(
        layout_features=[], notdef_outline=True, glyph_names=False, hinting=False, desubroutinize=True
    )
    small = TTFont(font, recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=characters)
    cutter.subset(small)
    small.flavor = "woff"
    small.save(font.with_suffix(".woff"))


def trim_icons(app: Sphinx, error: Exception | None) -> None:
    """Trim the theme's style sheet and fonts, after Sphinx has copied them."""
    static = Path(app.outdir) / "_static"
    style = static / STYLE
    if error or app.builder.format != "html" or not style.exists():
        return
    whole = style.read_text("utf8")
    small = trimmed(whole, shown_names(Path(app.outdir)))
    if small == whole:  # nothing was copied anew
        return
    style.write_text(small, "utf8")
    sheets = [p for p in static.rglob("*.css") if "vendor" not in p.parts]
    found = [pair for sheet in sheets for pair in CHARACTER.findall(sheet.read_text("utf8"))]
    characters = {int(code, 16) if code else ord(itself) for code, itself in found}
    for font in (static / FONTS).glob("*.ttf"):
        write_font(font, characters)
