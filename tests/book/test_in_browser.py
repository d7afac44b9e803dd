"""Promises about the site that only a browser can keep or break: requests, formulas, access, phones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from browsing import Visit, load, open_view, visit_all

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

TOC = yaml.safe_load((Path(__file__).parents[2] / "_toc.yml").read_text("utf8"))
PAGES = [
    f"{entry}.html"
    for entry in [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
]
CHAPTER = "book/mathematical-formulation.html"


@pytest.fixture(scope="module", params=["desktop", "phone"])
def visits(request: pytest.FixtureRequest, chromium: str, address: str) -> dict[str, Visit]:
    """Return what was seen on every page, on the search and on the page for a lost reader, at one width."""
    return visit_all(chromium, address, [*PAGES, "search.html?q=variance", "404.html"], request.param)


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
    assert [page for page, visit in visits.items() if not visit.turned_dark] == ["404.html"]  # it has no switch


def test_pages_do_not_scroll_sideways(visits):
    """A page fits its screen, down to 360 pixels; only code and wide formulas scroll, in their own boxes."""
    assert {page: v.overflow_px for page, v in visits.items() if v.overflow_px > 0} == {}


def test_a_page_with_mathematics_stays_light(visits):
    """A page's text with all that it needs, formulas' fonts included, weighs less than 2.3 MB uncompressed."""
    assert {page: v.weight for page, v in visits.items() if v.formulas and v.weight >= 2_300_000} == {}


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
    """A word typed into the search field of any page leads to the chapter, from the site's own index."""
    with open_view(chromium, address, "desktop-light") as (context, _):
        page = context.new_page()
        load(page, address + PAGES[1])
        page.keyboard.press("Control+k")
        page.keyboard.type("epsilon")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=epsilon*")
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


@pytest.mark.parametrize("page_name", [CHAPTER, "labs/lab01_batch_norm/lab01_batch_norm.html"])
def test_page_downloads_as_a_notebook(chromium, address, page_name):
    """The download menu opens, and hands out a notebook."""
    with open_view(chromium, address, "desktop-light") as (context, _):
        page = context.new_page()
        load(page, address + page_name)
        page.locator(".dropdown-download-buttons button").first.click()
        with page.expect_download() as download:
            page.locator(".dropdown-download-buttons a[href$='.ipynb']").first.click()
        cells = json.loads(Path(download.value.path()).read_text("utf8"))["cells"]
        assert len(cells) > 10


def test_lost_reader_finds_the_way_back(chromium, address):
    """An address that does not exist shows the site's page, at any depth, with links and search that lead on."""
    with open_view(chromium, address, "phone-dark") as (context, _):
        for lost in ("nothing", "book/no/such/page.html", "labs/lab99/lab99.html"):
            page = context.new_page()
            answer = page.goto(address + lost)
            assert answer.status == 404
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)"
            page.get_by_role("link", name="Mathematical Formulation").click()
            page.wait_for_url(f"{address}{CHAPTER}")
            page.goto(address + lost)
            page.get_by_role("searchbox").fill("epsilon")
            page.get_by_role("button", name="Search").click()
            page.wait_for_url(f"{address}search.html?q=epsilon")
            page.close()


def test_print_shows_the_text_alone(chromium, address):
    """On paper there are no menus and buttons, every answer is open, and ink is dark on white even from a dark screen."""
    with open_view(chromium, address, "desktop-dark") as (context, _):
        page = context.new_page()
        load(page, address + CHAPTER)
        page.emulate_media(media="print", color_scheme="dark")
        for part in (".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".prev-next-area"):
            assert not page.locator(part).first.is_visible(), part
        for answer in ("details.sd-dropdown p", "div.solution.dropdown p:not(.admonition-title)"):
            assert page.locator(answer).first.is_visible(), answer
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        dark_ink = "rgb(0, 0, 0)"
        assert page.locator(".bd-article p").first.evaluate("e => getComputedStyle(e).color") == dark_ink
        assert page.locator("img.drawn").first.evaluate("e => getComputedStyle(e).filter") == "none"
