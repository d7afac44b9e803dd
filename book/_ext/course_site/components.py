"""Fills the tags <norm-explorer> and <running-statistics> with what a reader without JavaScript sees.

The two fallbacks are written by the modules of that name, with torch, so that their numbers are right. A tag with a
wrong attribute stays empty and is a warning, which is an error of the build.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sphinx.application import Sphinx
from sphinx.util import logging

from .explorer_fallback import explorer_fallback
from .fallback_text import WrongAttribute
from .running_fallback import running_fallback

LOG = logging.getLogger(__name__)
TAG = re.compile(r'^<(norm-explorer|running-statistics)((?:\s+[a-z-]+="[^"]*")*)\s*></\1>\s*$', re.MULTILINE)


def filled(text: str, complain: Callable[[str], None]) -> str:
    """Return a page's text with every empty component tag filled."""

    def fill(found: re.Match[str]) -> str:
        tag, attributes = found[1], found[2]
        try:
            inside = (
                explorer_fallback(attributes, f"set-at-{found.start()}")
                if tag == "norm-explorer"
                else running_fallback(attributes)
            )
            return f"<{tag}{attributes}>{inside}</{tag}>\n"
        except WrongAttribute as wrong:
            complain(str(wrong))
            return found[0]

    return TAG.sub(fill, text)


def insert_fallbacks(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill the component tags of a page that is being read."""
    source[0] = filled(source[0], lambda why: LOG.warning("%s", why, location=docname))
