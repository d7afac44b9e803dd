"""Promises about the built pages, of both editions, that can be read from the files, without a browser."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
import yaml

ROOT = Path(__file__).parents[2]

ANCHORS = {
    "mathematical-formulation": (
        "the-set",
        "bn-forward",
        "bn-running-statistics",
        "bn-evaluation",
        "epsilon",
        "affine",
        "backward-general",
        "bn-backward",
        "ln-backward",
        "gn-backward",
        "rms-backward",
        "frozen-backward",
        "few-values",
        "numerics",
        "as-a-module",
    ),
    "core-concepts": (
        "internal-covariate-shift",
        "measuring-shift",
        "gradient-change",
        "smoother-landscape",
        "scale-invariance",
        "hooks-and-measuring",
    ),
    "advanced-theory": (
        "batch-renorm",
        "batch-renorm-clipping",
        "batch-renorm-gradient",
        "batch-renorm-running",
        "batch-renorm-inference",
        "weight-norm",
        "weight-norm-gradient",
        "weight-norm-start",
        "group-family",
    ),
    "key-challenges": (
        "small-batches",
        "batch-mates",
        "leak-between-examples",
        "train-eval-gap",
        "re-estimation",
        "artefacts-of-measuring",
        "fair-comparison",
    ),
}
BASE = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["html"]["baseurl"]
RELATIONS = ("stylesheet", "preload", "icon", "shortcut icon")


class PageReader(HTMLParser):
    """Collects ids, images and addresses of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.images: list[dict[str, str | None]] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag carries."""
        about = dict(attrs)
        if about.get("id"):
            self.ids.add(str(about["id"]))
        if tag == "img":
            self.images.append(about)
        if tag == "a" and about.get("href"):
            self.links.append(str(about["href"]))
        elif about.get("src"):
            self.loads.append(str(about["src"]))
        elif tag == "link" and about.get("href") and about.get("rel") in RELATIONS:
            self.loads.append(str(about["href"]))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, PageReader]:
    """Return every HTML page of the site by its path."""
    found = {}
    for path in site.rglob("*.html"):
        if "_static" not in path.parts:
            found[path.relative_to(site).as_posix()] = PageReader(path.read_text("utf8"))
    return found


def toc_entries() -> list[str]:
    """Return the documents that the table of contents lists."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
    return [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]


def test_every_page_of_the_toc_is_built_and_nothing_else(pages):
    """The site holds the pages of _toc.yml, the search, the index, the root's redirect and the page for a lost reader."""
    made = {"index.html", "search.html", "genindex.html", "404.html"}
    assert set(pages) == {f"{entry}.html" for entry in toc_entries()} | made


def test_both_front_doors_work(site, pages):
    """index.html leads to book/index.html, so both addresses show the landing page."""
    assert 'url=book/index.html"' in (site / "index.html").read_text("utf8")
    assert "book/index.html" in pages


@pytest.mark.parametrize(("chapter", "anchor"), [(c, a) for c, anchors in ANCHORS.items() for a in anchors])
def test_anchor_that_diagnoses_link_to(pages, chapter, anchor):
    """The autograder's hints link to these sections of the chapters."""
    assert anchor in pages[f"book/{chapter}.html"].ids


def test_links_inside_the_site_lead_somewhere(site, pages):
    """Each relative link names a file, and an id in it."""
    broken = []
    for name, page in pages.items():
        for link in page.links + page.loads:
            url = urlparse(link)
            if url.scheme or url.netloc or link.startswith("data:"):
                continue
            target = (site / name).parent / unquote(url.path) if url.path else site / name
            key = target.resolve().relative_to(site.resolve()).as_posix()
            if not target.is_file() or (url.fragment and key in pages and url.fragment not in pages[key].ids):
                broken.append(f"{name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_another_host(pages):
    """Scripts, styles, fonts and pictures are the site's own."""
    assert not [(name, load) for name, page in pages.items() for load in page.loads if "//" in load.split("?")[0]]


def test_every_image_has_alternative_text(pages):
    """An image without words is nothing to a reader who cannot see it."""
    assert not [(n, i) for n, page in pages.items() for i in page.images if not (i.get("alt") or "").strip()]
    assert sum("drawn" in (i.get("class") or "") for page in pages.values() for i in page.images) >= 13


def test_a_text_page_with_mathematics_stays_light(site):
    """One page with all that it loads weighs at most 2.3 MB, and the vendored MathJax at most 2 MB."""
    vendored = sum(p.stat().st_size for p in (ROOT / "book/_static/vendor").rglob("*") if p.is_file())
    assert vendored < 2_000_000
    assert (ROOT / "book/_static/vendor/mathjax/LICENSE").read_text("utf8").strip().startswith("Apache License")
    name = "book/notation.html"
    page = PageReader((site / name).read_text("utf8"))
    files = {((site / name).parent / load.split("?")[0]).resolve() for load in page.loads}
    assert sum(f.stat().st_size for f in files) + (site / name).stat().st_size < 2_300_000


def meta(page: Path) -> dict[str, str]:
    """Return the named and Open Graph tags of a page."""
    tags = re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)"', page.read_text("utf8"))
    return {name: html.unescape(value) for name, value in tags}


def test_every_page_says_what_it_is_when_it_is_shared(site):
    """Each page of the table of contents has a title, a description of its own, and a card of 1200 by 630 pixels."""
    seen = {}
    for entry in toc_entries():
        said = meta(site / f"{entry}.html")
        assert {"og:title", "og:type", "og:image", "og:url", "description", "twitter:card"} <= set(said), entry
        assert said["og:description"] == said["description"]
        assert 20 < len(said["description"]) <= 200, entry
        assert not re.search(r"[{}\\$]", said["description"]), entry
        assert said["og:url"] == f"{BASE}{entry}.html"
        card = site / said["og:image"].removeprefix(BASE)
        assert card.read_bytes()[16:24] == (1200).to_bytes(4) + (630).to_bytes(4)  # the head of a PNG
        seen[said["og:title"], said["description"]] = entry
    assert len(seen) == len(toc_entries())


def test_buttons_lead_to_files_that_exist(site):
    """Colab and Binder open a notebook of the repository, and "suggest edit" a source; a lab has no link to its source."""
    for entry in toc_entries():
        text = html.unescape((site / f"{entry}.html").read_text("utf8"))
        launched = re.findall(r"colab\.research[^\"]*/blob/main/([^\"]+)", text)
        launched += re.findall(r"mybinder[^\"]*urlpath=lab/tree/([^\"]+)", text)
        executed = entry.startswith("labs/") or "{code-cell}" in (ROOT / f"{entry}.md").read_text("utf8")
        assert len(launched) == (2 if executed else 0), entry
        assert all(path.endswith(".ipynb") and (ROOT / path).is_file() for path in launched), entry
        edited = re.findall(r"/edit/main/([^\"]+)", text)
        assert edited == ([] if entry.startswith("labs/") else [f"{entry}.md"])


def test_the_lost_readers_page_stands_alone(site):
    """404.html loads nothing but the icon, names every page, and starts its links from the one address in _config.yml."""
    text = (site / "404.html").read_text("utf8")
    assert f'<base href="{BASE}" />' in text
    page = PageReader(text)
    assert page.loads == ["_static/favicon.svg"]
    assert {f"{entry}.html" for entry in toc_entries()} <= set(page.links)


def test_every_icon_that_a_page_shows_is_in_the_small_fonts(site):
    """The theme's fonts are cut down to the icons in use; each is still there, and the fonts are small."""
    from course_site.icons import NAME, NAMED, shown_names
    from fontTools.ttLib import TTFont

    style = (site / "_static/styles/pydata-sphinx-theme.css").read_text("utf8")
    rules = {name: rule[0] for rule in NAMED.finditer(style) for name in NAME.findall(rule[1])}
    shown = shown_names(site) & set(rules)
    assert {"fa-bars", "fa-list", "fa-download", "fa-github"} <= shown
    fonts = list((site / "_static/vendor/fontawesome/webfonts").glob("*.woff"))
    assert sum(font.stat().st_size for font in fonts) < 40_000
    drawn = {character for font in fonts for character in TTFont(font).getBestCmap()}
    assert {int(re.search(r"[0-9a-f]{4}", rules[name].rsplit("{", 1)[1])[0], 16) for name in shown} <= drawn
    assert 0xF12D in drawn  # course.css
    assert 0xF071 in drawn  # the theme's triangle of a warning, which its style sheet holds as the character itself


def test_no_page_promises_what_is_still_to_be_written():
    """A mark for the author is not for the reader."""
    marks = re.compile(r"PLACEHOLDER|TODO|TBD|FIXME|XXX")
    assert not [path.name for path in (ROOT / "book").glob("*.md") if marks.search(path.read_text("utf8"))]


def test_symbols_are_defined_once():
    """No symbol of the notation page stands in two rows."""
    symbols: list[str] = []
    for row in (ROOT / "book/notation.md").read_text("utf8").splitlines():
        if row.startswith("| $"):
            symbols += re.findall(r"\$([^$]+)\$", row.split("|")[1])
    assert len(symbols) > 30
    assert sorted(symbols) == sorted(set(symbols))


@pytest.mark.parametrize("chapter", ANCHORS)
def test_greek_letters_of_the_chapter_are_in_the_notation(chapter):
    """A chapter uses no Greek letter, and no upright one, that the notation page does not define."""
    greek = "alpha|beta|gamma|delta|varepsilon|epsilon|eta|kappa|lambda|mu|nabla|pi|rho|sigma|tau|theta|phi|omega|ell"
    letters = rf"\\({greek}|mathsf [a-z])(?![a-z])"
    notation = set(re.findall(letters, (ROOT / "book/notation.md").read_text("utf8")))
    used = set(re.findall(letters, (ROOT / f"book/{chapter}.md").read_text("utf8")))
    assert len(used) > 6
    assert used <= notation


@pytest.mark.parametrize("chapter", ANCHORS)
def test_no_number_taken_from_a_run_is_missing(site, chapter):
    """What a sentence takes over from a run has arrived in the page, as a number, and none was left unused."""
    source = (ROOT / f"book/{chapter}.md").read_text("utf8")
    wanted = re.findall(r"\{glue:text\}`([^`]+)`", source)
    page = (site / f"book/{chapter}.html").read_text("utf8")
    shown = re.findall(r'<span class="pasted-text">([^<]*)</span>', page)
    assert len(shown) == len(wanted)
    assert all(re.fullmatch(r"\d+(\.\d+)?", number) for number in shown)
    made = set(re.findall(r'glue\("([^"]+)"', source)) - {"name"}
    assert made <= {name.split(":")[0] for name in wanted}


def code_cells() -> list[tuple[str, str]]:
    """Return (page, source) of each code cell that the build executes."""
    fence = re.compile(r"^```\{code-cell\}.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(p.name, cell) for p in sorted((ROOT / "book").glob("*.md")) for cell in fence.findall(p.read_text("utf8"))]


def test_executed_pages_import_only_installed_packages():
    """A page that imported a module of the repository would break as a download, and its cache would go stale."""
    imports = {m for _, cell in code_cells() for m in re.findall(r"^(?:import|from) (\w+)", cell, re.MULTILINE)}
    assert imports
    # myst_nb only where it is guarded
    assert imports <= {"torch", "numpy", "math", "copy", "warnings", "matplotlib", "sklearn"}


def test_code_fits_a_narrow_screen():
    """Lines of code are at most 62 characters."""
    assert not [(p, line) for p, cell in code_cells() for line in cell.splitlines() if len(line) > 62]


def test_pages_show_no_layer_to_copy():
    """The chapter checks formulas; it does not define the classes and functions that a lab asks for."""
    text = "\n".join(cell for _, cell in code_cells())
    assert not re.search(r"^\s*class \w+", text, re.MULTILINE)
    assert not re.search(r"def (batch_norm_backward|batch_statistics|normalize|updated_running|backward_steps)\b", text)


WALK = "reference-implementations"
# Text that only instructor files hold; a site that shows it gives the lab away.
MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "solutions.reference", "solutions/reference")


def visible_text(path: Path) -> str:
    """Return a file's text, without markup and runs of blanks."""
    text = path.read_text("utf8", errors="replace")
    if path.suffix == ".html":
        text = html.unescape(re.sub(r"<[^>]+>", "", text))
    elif path.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return re.sub(r"\s+", " ", text)


def solution_lines() -> set[str]:
    """Return the lines of code of instructor files that are long enough to stand nowhere else by chance.

    Of a lab's notebook.py these are the lines between the solution marks; the rest is meant for students.
    """
    lines = set()
    for path in (ROOT / "solutions").rglob("*.py"):
        in_text, secret = False, path.name != "notebook.py"
        for line in map(str.strip, path.read_text("utf8").splitlines()):
            if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
                secret = "BEGIN" in line
            in_text ^= line.count('"""') % 2 == 1
            words = line.startswith(("#", '"""', "import ", "from ", "def ", "class "))
            if secret and not in_text and not words and len(line) >= 40 and re.search(r"[=(]", line):
                lines.add(re.sub(r"\s+", " ", line))
    return lines


def leaks(site: Path, but: str = "") -> list[tuple[str, str]]:
    """Return where a marker or a longer line of code of solutions/ stands in a page, source or search index."""
    lines = {*MARKERS, *solution_lines()}
    assert len(lines) > 50
    found = []
    for path in site.rglob("*"):
        if path.stem != but and (path.suffix in {".html", ".md", ".ipynb", ".txt"} or path.name == "searchindex.js"):
            text = visible_text(path)
            found += [(path.name, line) for line in lines if line in text]
    return found


def test_no_solution_text_in_the_students_edition(student_site):
    """Nothing of solutions/ can be found in any page, source or search index, and the page that shows it is not there."""
    assert leaks(student_site) == []
    assert not list(student_site.rglob(f"*{WALK}*"))
    assert len(list(student_site.rglob("book/*.html"))) == len(list((ROOT / "_build/html").rglob("book/*.html"))) - 1


def test_solution_text_stands_on_one_page_of_the_full_edition_only(site):
    """The walk through the reference implementations shows them, after the labs and behind a warning; no other page does."""
    assert leaks(site, but=WALK) == []
    entries = toc_entries()
    assert entries.index(f"book/{WALK}") > max(k for k, entry in enumerate(entries) if entry.startswith("labs/"))
    page = (site / f"book/{WALK}.html").read_text("utf8")
    assert "BatchNorm1d" in page
    assert page.index("admonition") < page.index("literal-block-wrapper")


def test_no_notebook_shows_a_solution():
    """The notebooks of the chapters hold nothing of solutions/, that of the walk included."""
    assert leaks(ROOT / "book/notebooks") == []


def test_labs_are_pages_and_download_as_released(site):
    """Each lab is a page whose download is the release notebook, byte for byte, and was not executed."""
    labs = sorted((ROOT / "labs").glob("*/*.ipynb"))
    assert labs
    for lab in labs:
        name = lab.relative_to(ROOT)
        assert name.with_suffix("").as_posix() in toc_entries()
        assert (site / "_sources" / name).read_bytes() == lab.read_bytes()
        page = (site / name.with_suffix(".html")).read_text("utf8")
        assert "cell_output" not in page
        assert "lab-graded" in page
