"""The page of a check in Chromium: readable in the light and in the dark, on a phone, by a screen reader, on any ground."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from some_views import FAILED, PASSED, SECOND

from tests.conftest import chromium_program

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

HOSTS = {
    "a browser in the light": ("light", ""),
    "a browser in the dark": ("dark", ""),
    "JupyterLab's dark theme, the system's light": ("light", 'data-jp-theme-light="false"'),
    "JupyterLab's light theme, the system's dark": ("dark", 'data-jp-theme-light="true"'),
    "VS Code's dark theme": ("light", 'class="vscode-dark"'),
}
LONG = replace(FAILED, diagnoses=(*FAILED.diagnoses, SECOND), code="x = " + "1234567890, " * 60)
VIEWS = (FAILED, PASSED, LONG, replace(PASSED, state="noted", summary="predicted = 3"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox"])
        yield started
        started.close()


def opened(browser: Any, scheme: str, host: str, width: int = 900) -> Any:
    """A page that shows some checks, everything unfolded."""
    page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    body = "".join(view._repr_html_() for view in VIEWS)
    page.set_content(
        '<!doctype html><html lang="en"><head><title>Lab</title><meta name="viewport" content="width=device-width"></head>'
        f"<body {host}><main><h1>Lab</h1>{body}</main></body></html>"
    )
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    return page


@pytest.mark.parametrize("name", HOSTS)
def test_axe_finds_nothing_and_the_theme_is_the_hosts(browser: Any, name: str) -> None:
    """Contrast, names, roles; dark where the notebook is dark."""
    from axe_playwright_python.sync_playwright import Axe

    scheme, host = HOSTS[name]
    page = opened(browser, scheme, host)
    assert [violation["id"] for violation in Axe().run(page).response["violations"]] == []
    ground = page.evaluate("getComputedStyle(document.querySelector('.nc-check')).backgroundColor")
    dark = ("dark" in name) if "JupyterLab" not in name else "dark theme" in name
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == dark


def test_a_phone_needs_no_sideways_scrolling(browser: Any) -> None:
    """Only code scrolls, in its own box."""
    page = opened(browser, "light", "", 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.querySelector('.nc-check pre')).overflowX") == "auto"


def test_a_hint_is_folded_until_it_is_asked_for(browser: Any) -> None:
    """The second inside the first."""
    page = opened(browser, "light", "")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = false)")
    first, second = (page.get_by_text(words, exact=True).first for words in ("Count the rows.", "Too small."))
    assert not first.is_visible()
    page.locator("summary", has_text="Think").first.click()
    assert first.is_visible()
    assert not second.is_visible()
    page.locator("summary", has_text="See").first.click()
    assert second.is_visible()
