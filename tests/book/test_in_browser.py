"""Promises about the site that only a browser can keep or break: requests, formulas, access, phones."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from browsing import VIEWS, Visit, load, open_view, visit_all

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

TOC = yaml.safe_load((Path(__file__).parents[2] / "_toc.yml").read_text("utf8"))
PAGES = [
    f"{entry}.html"
    for entry in [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
]
CHAPTER = "book/mathematical-formulation.html"


@pytest.fixture(scope="module", params=list(VIEWS))
def visits(request: pytest.FixtureRequest, chromium: str, address: str) -> dict[str, Visit]:
    """Return what was seen on every page, and on the search, in one view."""
    return visit_all(chromium, address, [*PAGES, "search.html?q=variance"], request.param)


def gather(visits: dict[str, Visit], field: str) -> dict[str, object]:
    """Return the pages on which the field is not empty."""
    return {page: getattr(visit, field) for page, visit in visits.items() if getattr(visit, field)}


def test_no_request_leaves_the_site(visits):
    """The book can be read offline, and tells nobody that it is read."""
    assert gather(visits, "outside") == {}


def test_nothing_is_missing_and_nothing_complains(visits):
    """No file answers 404 and the console stays silent."""
    assert gather(visits, "failed") == {}
    assert gather(visits, "console") == {}


def test_every_formula_is_set(visits):
    """MathJax ran, and met no TeX that it does not understand."""
    assert gather(visits, "broken_tex") == {}
    assert visits[CHAPTER].formulas > 100


def test_axe_finds_no_violation(visits):
    """axe-core reports nothing, on any page, in light and dark, wide and narrow."""
    assert gather(visits, "violations") == {}


def test_pages_do_not_scroll_sideways(visits):
    """A page fits its screen, down to 360 pixels; only code and wide formulas scroll, in their own boxes."""
    assert {page: v.overflow_px for page, v in visits.items() if v.overflow_px > 0} == {}


def test_both_front_doors_show_the_landing_page(chromium, address):
    """The bare address and book/index.html show the same page."""
    with open_view(chromium, address, "desktop-light") as (context, _):
        page = context.new_page()
        for door in ("", "index.html", "book/index.html"):
            page.goto(address + door)
            page.wait_for_url("**/book/index.html")
            assert page.locator("h1").first.inner_text().startswith("Normalization in Deep Learning")


def test_phone_menus_open_and_lead_on(chromium, address):
    """On a phone both menu buttons open their sidebar, and a link in it can be followed."""
    with open_view(chromium, address, "phone-light") as (context, _):
        page = context.new_page()
        load(page, address + "book/index.html")
        page.locator("button.primary-toggle").first.click()
        page.locator("dialog[open]").get_by_role("link", name="Mathematical Formulation").click()
        page.wait_for_url(f"**/{CHAPTER}")
        load(page, page.url)
        page.locator("button.secondary-toggle").first.click()
        page.locator("dialog[open]").get_by_role("link", name="Epsilon").click()
        page.wait_for_url("**#epsilon")


def test_theme_switch_turns_the_page_dark(chromium, address):
    """The switch changes the theme, and a drawn figure stays legible by being turned round."""
    with open_view(chromium, address, "desktop-light") as (context, _):
        page = context.new_page()
        load(page, address + CHAPTER)
        picture = page.locator("img.drawn").first
        assert picture.evaluate("e => getComputedStyle(e).filter") == "none"
        for _ in range(3):  # auto, light, dark in some order
            page.locator("button.theme-switch-button").locator("visible=true").first.click()
            if page.locator("html").get_attribute("data-theme") == "dark":
                break
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert "invert(1)" in picture.evaluate("e => getComputedStyle(e).filter")
        assert picture.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"


def test_search_finds_the_chapter(chromium, address):
    """The search works from the site's own index."""
    with open_view(chromium, address, "desktop-light") as (context, _):
        page = context.new_page()
        load(page, address + "search.html?q=epsilon")
        page.locator("#search-results li a", has_text="Mathematical Formulation").first.wait_for()


def test_answers_open_by_keyboard(chromium, address):
    """A quiz answer and an exercise's solution are closed at first and open without a mouse."""
    with open_view(chromium, address, "desktop-light") as (context, _):
        page = context.new_page()
        load(page, address + CHAPTER)
        answer = page.locator("details.sd-dropdown").first
        assert answer.get_attribute("open") is None
        answer.locator("summary").focus()
        page.keyboard.press("Enter")
        assert answer.get_attribute("open") is not None
        solution = page.locator("div.solution.dropdown").first
        content = solution.locator("p", has_text="element of its set").first
        assert not content.is_visible()
        solution.locator("button.toggle-button").focus()
        page.keyboard.press("Enter")
        assert content.is_visible()


def test_skip_link_is_the_first_stop(chromium, address):
    """The first tab stop leads past the menus to the text."""
    with open_view(chromium, address, "desktop-light") as (context, _):
        page = context.new_page()
        load(page, address + CHAPTER)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('href')") == "#main-content"
