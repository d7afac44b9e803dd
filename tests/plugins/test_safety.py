"""No text becomes HTML that runs, loads, or looks like a part of formgrader, and no text ends the page."""

from __future__ import annotations

import time

import pytest

from autograder.plugins.safety import MAX_CHARS, safe_html

PICTURES = {"page.png": {"image/png": "iVBORw0KGgo="}, "evil.svg": {"image/svg+xml": "PHN2Zz4="}}


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<b onclick=alert(1)>x</b>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java\tscript:alert(1))",
        "<a href=' javascript:alert(1)'>x</a>",
        "<a href='data:text/html;base64,PHNjcmlwdD4='>x</a>",
        "<javascript:alert(1)>",
        "![x](http://example.org/pixel.png)",
        "![x](javascript:alert(1))",
        "<img src='//example.org/pixel.png'>",
        "<iframe src='//example.org'></iframe>",
        "<form action='/formgrader/api'><input name=a></form>",
        "<base href='//example.org'>",
        "<style>body { display: none }</style>",
        "<p style='position:fixed;top:0'>x</p>",
        "<meta http-equiv=refresh content='0;url=//example.org'>",
        "<details open ontoggle=alert(1)>x</details>",
        "```mermaid\nclick A href 'javascript:alert(1)'\n```",
        "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    ],
)
def test_nothing_in_a_text_runs_or_loads(text: str) -> None:
    html = safe_html(text).lower()
    tags = [part.split(">")[0] for part in html.split("<")[1:]]
    assert not any(tag.split()[0].strip("/") in ("script", "svg", "iframe", "form", "style", "meta") for tag in tags)
    for tag in tags:
        for word in ("javascript", "onerror", "onclick", "onload", "ontoggle", "style=", "example.org", "data:text"):
            assert word not in tag


def test_nothing_in_a_text_can_pass_for_a_part_of_the_page() -> None:
    """formgrader's script finds its inputs by id and class; a heading must not become one of them."""
    html = safe_html("# double\n\n<b id=double class='score btn'>x</b> <span class=full-credit>y</span>")
    assert "id=" not in html
    assert "class=" not in html


def test_what_people_write_looks_as_it_should() -> None:
    html = safe_html("**bold**, `a < b`, [book](https://example.org/a?b=1&c=2)\n\n| a |\n|---|\n| 1 |\n\n1. x\n2. y\n")
    for part in ("<strong>bold</strong>", "<code>a &lt; b</code>", "<td>1</td>", "<ol>"):
        assert part in html
    assert '<a href="https://example.org/a?b=1&amp;c=2">book</a>' in html
    assert "$x_i &lt; y_i$" in safe_html("$x_i < y_i$")


def test_only_a_picture_pasted_into_the_cell_is_shown() -> None:
    """And one that is not there is a few words, where nbconvert ends with an error."""
    html = safe_html("![mine](attachment:page.png) ![gone](attachment:no.png) ![v](attachment:evil.svg)", PICTURES)
    assert html.count("<img") == 1
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in html
    assert "[gone, not shown]" in html
    assert "svg+xml" not in html


@pytest.mark.parametrize(
    "text", [">" * 50_000, "[" * 50_000, "*a " * 30_000, "`" * 50_001, "![](" * 20_000, "<a " * 30_000]
)
def test_no_text_ends_the_page_or_holds_it_up(text: str) -> None:
    begun = time.monotonic()
    assert safe_html(text)
    assert time.monotonic() - begun < 20


def test_a_very_long_text_is_cut() -> None:
    assert len(safe_html("x " * MAX_CHARS)) < MAX_CHARS + 1000
