"""Opens pages of the site in Chromium and writes down what happened; holds no expectation of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the packages may be missing; the fixture `chromium` says so before anything here runs
    from playwright.sync_api import BrowserContext, Page, Route

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = (1440, 900), (360, 780)
VIEWS = {
    "desktop-light": (DESKTOP, "light"),
    "desktop-dark": (DESKTOP, "dark"),
    "phone-light": (PHONE, "light"),
    "phone-dark": (PHONE, "dark"),
}
# The dark page has the light one's markup: only what depends on colours is looked at again.
# Naming only violations halves the time, for axe would describe every element that passes.
ALL_RULES = {"resultTypes": ["violations"]}
OF_COLOURS = {**ALL_RULES, "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# an error that MathJax shows; an unknown macro, which it prints in red; a formula that it did not recognize at all
BROKEN_TEX = """() => [
    ...document.querySelectorAll("mjx-merror, [data-mjx-error], mjx-mtext[style*='red']"),
    ...[...document.querySelectorAll(".math")].filter(e => !e.querySelector("mjx-container")),
].map(e => e.dataset.mjxError || e.textContent)"""


# Code is thousands of spans, and so are the formulas in a text, whose colours are looked at one by one. One of each kind stays: two
# with the same classes all the way up look the same in every theme. The others become plain text where they stand. All are read
# before any is replaced, since a page that changes in between is laid out anew each time. Formulas that stand alone all stay: a
# wide one scrolls, and has to be reached by the keyboard.
ONE_OF_A_KIND = """() => {
    const kinds = new Set();
    const code = ".highlight pre span:not(:has(*), [style], [id])";
    const formulas = "mjx-container:not([display])";
    const alike = [...document.querySelectorAll(code + ", " + formulas)].filter(part => {
        let kind = "";
        for (let above = part; above; above = above.parentElement) kind += above.tagName + " " + above.className + "/";
        return kinds.size === kinds.add(kind).size;
    });
    for (const part of alike) part.replaceWith(part.tagName === "SPAN" ? part.textContent : "x");
    return alike.length;
}"""

# bytes, uncompressed, of the page and of all that it loaded but pictures
WEIGHT = """() => ["navigation", "resource"].flatMap(t => performance.getEntriesByType(t))
    .filter(entry => entry.initiatorType !== "img").reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""


@dataclass(frozen=True)
class Visit:
    """What was seen on one page at one width; the violations are those of the light and of the dark page."""

    outside: tuple[str, ...]
    console: tuple[str, ...]
    failed: tuple[str, ...]
    broken_tex: tuple[str, ...]
    formulas: int
    violations: tuple[str, ...]
    overflow_px: int
    weight: int
    turned_dark: bool


@contextmanager
def open_view(chromium: str, address: str, view: str) -> Iterator[tuple[BrowserContext, list[str]]]:
    """Lend a browser context that cannot leave the address, and the list of requests that tried to.

    Playwright is closed at the end, because its event loop would disturb other tests that use asyncio.
    """
    from playwright.sync_api import sync_playwright

    (width, height), scheme = VIEWS[view]
    outside: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.set_default_timeout(20_000)

        def gate(route: Route) -> None:
            url = route.request.url
            if url.startswith((address, "data:", "blob:")):
                route.continue_()
            else:
                outside.append(url)
                route.abort()

        context.route("**/*", gate)
        yield context, outside
        browser.close()


def load(page: Page, url: str) -> None:
    """Open a page and wait until its formulas are set, and until a search has found what there is, with its excerpts."""
    page.goto(url, wait_until="networkidle" if "?q=" in url else "load")
    if "?q=" in url:
        page.locator("#search-results li").first.wait_for()
        page.wait_for_load_state("networkidle")
    page.evaluate("window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => 0) : 0")


def violations(page: Page, options: dict[str, object] = ALL_RULES) -> list[str]:
    """Return what axe-core objects to."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=options).response["violations"]
    return [f"{v['id']} ({v['impact']}): {node['html'][:200]}" for v in found for node in v["nodes"]]


def visit_all(chromium: str, address: str, pages: list[str], width: str) -> dict[str, Visit]:
    """Visit each page at one width, `desktop` or `phone`: in light, and then turned dark as the system turns dark."""
    seen = {}
    with open_view(chromium, address, f"{width}-light") as (context, outside):
        for path in pages:
            outside.clear()
            console: list[str] = []
            failed: list[str] = []
            page = context.new_page()
            page.on("console", lambda m, log=console: log.append(m.text) if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda error, log=console: log.append(str(error)))
            page.on("response", lambda r, log=failed: log.append(f"{r.status} {r.url}") if r.status >= 400 else None)
            load(page, address + path)
            heard = tuple(outside), tuple(console), tuple(failed)  # before axe, which fetches style sheets anew
            weight = page.evaluate(WEIGHT)
            overflow_px = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            formulas, broken_tex = page.locator("mjx-container").count(), tuple(page.evaluate(BROKEN_TEX))
            page.evaluate(ONE_OF_A_KIND)
            found = violations(page)
            page.add_style_tag(content="* { transition: none !important }")  # or axe meets colours half way
            page.emulate_media(color_scheme="dark")
            seen[path] = Visit(
                *heard,
                broken_tex=broken_tex,
                formulas=formulas,
                violations=(*found, *(f"in the dark: {v}" for v in violations(page, OF_COLOURS))),
                overflow_px=overflow_px,
                weight=weight,
                turned_dark=page.evaluate("document.documentElement.dataset.theme") == "dark",
            )
            page.close()
    return seen
