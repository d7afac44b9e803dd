"""Prints the built website into one PDF: `python scripts/pdf.py [full|student]`, in the order of the table of contents.

Chromium prints each page as its print style sheet says; pypdf puts them one after the other, with a title page, contents,
page numbers, bookmarks, and links between pages that stay inside the file. It builds nothing: `make pdf` does that first.
"""

import html
import shutil
import sys
import threading
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

import yaml

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from scripts.build_book import FOLDERS, site_folder, table_of_contents  # noqa: E402
from scripts.serve import QuietHandler, server  # noqa: E402

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TITLE = "e => [...e.childNodes].filter(n => !n.classList?.contains('headerlink')).map(n => n.textContent).join('')"
SHEET = {"format": "A4", "print_background": True}
MARGIN = {"top": "16mm", "bottom": "18mm", "left": "15mm", "right": "15mm"}
STYLE = "body{font:11pt/1.5 sans-serif;margin:0}h1{font-size:30pt;margin:60mm 0 6mm}a{color:#000;text-decoration:none}"
STYLE += "h2{font-size:13pt;margin:7mm 0 1mm}li{display:flex;gap:3mm;list-style:none}ul{padding:0;margin:0}"
STYLE += "li i{flex:1;border-bottom:1px dotted #777;margin-bottom:1.6mm}.new{break-before:page}"
STYLE += (
    ".number{height:297mm;break-after:page;position:relative}.number span{position:absolute;bottom:8mm;width:210mm;"
)
STYLE += "text-align:center;font-size:9pt}"


@dataclass(frozen=True)
class Chapter:
    """One page of the site, printed."""

    part: str
    page: str  # as book/core-concepts.html
    title: str
    raw: bytes
    sheets: int


def listed(edition: str) -> tuple[str, list[tuple[str, str]]]:
    """The book's title, and (part, page) of everything in its table of contents."""
    toc = yaml.safe_load(table_of_contents(edition).read_text("utf8"))
    title = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["title"]
    pages = [("", toc["root"])]
    pages += [(part["caption"], chapter["file"]) for part in toc["parts"] for chapter in part["chapters"]]
    return title, [(part, f"{page}.html") for part, page in pages]


def written(parts: str) -> str:
    """A page of HTML for the printer."""
    return f"<!DOCTYPE html><meta charset='utf-8'><style>{STYLE}</style>{parts}"


def front_matter(title: str, chapters: list[Chapter], starts: list[int]) -> str:
    """Title page and contents, as HTML."""
    lines = [
        f"<h1>{html.escape(title)}</h1><p>Printed from the website of the course.</p><h2 class='new'>Contents</h2><ul>"
    ]
    part = ""
    for chapter, start in zip(chapters, starts, strict=True):
        if chapter.part != part:
            part = chapter.part
            lines.append(f"</ul><h2>{html.escape(part)}</h2><ul>")
        lines.append(f"<li><span>{html.escape(chapter.title)}</span><i></i><span>{start}</span></li>")
    return written("\n".join(lines) + "</ul>")


def print_pages(pages: list[tuple[str, str]], address: str, context) -> list[Chapter]:
    """Print each page; `context` is a browser context of Playwright."""
    from pypdf import PdfReader

    chapters = []
    for part, name in pages:
        page = context.new_page()
        page.goto(address + name, wait_until="load")
        page.evaluate("window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => 0) : 0")
        title = page.locator("article h1").first.evaluate(TITLE)
        raw = page.pdf(**SHEET, margin=MARGIN, tagged=True, outline=True)
        chapters.append(Chapter(part, name, " ".join(title.split()), raw, len(PdfReader(BytesIO(raw)).pages)))
        page.close()
    return chapters


def lead_inside(writer, chapters: list[Chapter], first_sheets: list[int], address: str, base: str) -> None:
    """Turn links into jumps inside the file, and links to what it does not hold, such as downloads, to the site.

    Chromium names a place in a page by its anchor, and many chapters have the same: each link gets its own place.
    """
    from pypdf import PdfReader
    from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NullObject, TextStringObject

    def place(sheet: int, top: float | None = None) -> ArrayObject:
        height = NullObject() if top is None else FloatObject(top)
        return ArrayObject(
            [writer.pages[sheet].indirect_reference, NameObject("/XYZ"), NullObject(), height, NullObject()]
        )

    places: dict[str, ArrayObject] = {}
    for chapter, first in zip(chapters, first_sheets, strict=True):
        reader = PdfReader(BytesIO(chapter.raw))
        places[chapter.page] = place(first)
        for name, there in reader.named_destinations.items():
            sheet = first + reader.get_destination_page_number(there)
            places[f"{chapter.page}#{name.lstrip('/')}"] = place(sheet, there.top)
    for chapter, first in zip(chapters, first_sheets, strict=True):
        for sheet in writer.pages[first : first + chapter.sheets]:
            for link in (reference.get_object() for reference in sheet.get("/Annots") or []):
                action = link.get("/A", DictionaryObject()).get_object()
                url = str(action.get("/URI", ""))
                if "/Dest" in link:
                    anchor = f"{chapter.page}#{str(link['/Dest']).lstrip('/')}"
                    link[NameObject("/Dest")] = places.get(anchor, places[chapter.page])
                elif url.startswith(address):
                    path, _, anchor = unquote(url.removeprefix(address)).partition("#")
                    if path in places:
                        jump = DictionaryObject({NameObject("/S"): NameObject("/GoTo")})
                        jump[NameObject("/D")] = places.get(f"{path}#{anchor}", places[path])
                        link[NameObject("/A")] = jump
                    else:
                        action[NameObject("/URI")] = TextStringObject(base + path)


def bind(title: str, chapters: list[Chapter], address: str, base: str, context) -> bytes:
    """One PDF of all chapters."""
    from pypdf import PdfReader, PdfWriter

    starts = [1 + sum(c.sheets for c in chapters[:k]) for k in range(len(chapters))]
    page = context.new_page()
    page.set_content(front_matter(title, chapters, starts))
    front = PdfReader(BytesIO(page.pdf(**SHEET, margin=MARGIN)))
    total = sum(chapter.sheets for chapter in chapters)
    page.set_content(written("".join(f"<div class=number><span>{k}</span></div>" for k in range(1, total + 1))))
    numbers = PdfReader(BytesIO(page.pdf(**SHEET)))
    page.close()

    writer = PdfWriter()
    writer.append(front, "Contents")
    for chapter in chapters:
        writer.append(BytesIO(chapter.raw))  # with its own bookmarks
    for k in range(total):
        writer.pages[len(front.pages) + k].merge_page(numbers.pages[k])
    lead_inside(writer, chapters, [len(front.pages) + start - 1 for start in starts], address, base)
    writer.add_metadata({"/Title": title})
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def print_book(edition: str, pages: list[tuple[str, str]] | None = None) -> bytes:
    """Print the edition's pages, or those given, into one PDF. Exits with a sentence when something is missing."""
    program = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if program is None:
        sys.exit("pdf: no Chromium was found, and the PDF is printed by it: apt install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("pdf: the package playwright is missing: pip install '.[dev]'")
    folder = site_folder(edition)
    title, listed_pages = listed(edition)
    missing = [name for _, name in pages or listed_pages if not (folder / name).exists()]
    if missing:
        sys.exit(f"pdf: {missing[0]} is not in {folder.relative_to(ROOT)}; run `make book` first.")
    base = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["html"].get("baseurl") or ""
    with server(folder, 0, QuietHandler) as running, sync_playwright() as playwright:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{running.server_port}/"
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(color_scheme="light")
        context.set_default_timeout(60_000)
        chapters = print_pages(pages or listed_pages, address, context)
        raw = bind(title, chapters, address, base.rstrip("/") + "/", context)
        browser.close()
        running.shutdown()
    return raw


def main(edition: str) -> None:
    """Print one edition and say where the file lies."""
    if edition not in FOLDERS:
        sys.exit(f"pdf: there is no edition {edition}; EDITION can be {' or '.join(FOLDERS)}.")
    path = FOLDERS[edition] / "normalization-in-deep-learning.pdf"
    path.write_bytes(print_book(edition))
    print(f"pdf: {path.relative_to(ROOT)}, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "full")
