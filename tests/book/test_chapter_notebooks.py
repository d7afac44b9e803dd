"""Promises about the chapters as notebooks: those of the repository are fresh, and every download can be run and read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("sphinx", reason="the book extra is not installed: pip install '.[book]'")

from course_site import notebooks
from course_site.plain import Site, plain

ROOT = Path(__file__).parents[2]
PAGES = notebooks.executed_pages(ROOT)
FOREIGN = re.compile(r"\{\{|\{[\w:-]+\}`|^[`:~]{3,}\{|^\([\w-]+\)=$|\]\((?!https?://)(?!#)|\]\{", re.MULTILINE)
SITE = Site(
    base="https://x/",
    page="book/here",
    titles={"book/there": "There", "labs/one/one": "Lab one"},
    labels={"place": ("book/there", "A place")},
    works={"ioffe2015": ("Ioffe & Szegedy", "2015"), "ba2016": ("Ba et al.", "2016")},
    values={"loss": 0.12345},
)


def test_every_executed_page_has_its_notebook_and_no_other_is_there():
    """What Colab and Binder open is all there."""
    assert PAGES
    assert sorted((ROOT / "book/notebooks").glob("*.ipynb")) == sorted(ROOT / notebooks.notebook_of(p) for p in PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_notebook_is_what_its_page_makes(page):
    """The page is the only source. When this fails: make notebooks."""
    assert (ROOT / notebooks.notebook_of(page)).read_text("utf8") == notebooks.from_source(ROOT, page)


def outside_code(text: str) -> str:
    """Return Markdown without code and formulas, in which anything may stand."""
    text = re.sub(r"^ *```[\w-]*\n.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\$\$.*?\$\$|(`+)(?!`).+?(?<!`)\1(?!`)|\$[^$]+\$", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_download_can_be_read_and_run_elsewhere(site, page):
    """It is valid, has the page's code, and its text holds no syntax, label, place or link that needs the book."""
    raw = (site / f"_sources/{page}.ipynb").read_text("utf8")
    download, committed = nbformat.reads(raw, 4), nbformat.read(ROOT / notebooks.notebook_of(page), 4)
    nbformat.validate(download)
    nbformat.validate(committed)
    code = [cell.source for cell in committed.cells if cell.cell_type == "code"]
    assert [cell.source for cell in download.cells if cell.cell_type == "code"] == code
    for cell in [*download.cells, *committed.cells]:
        if cell.cell_type == "markdown":
            assert not FOREIGN.findall(outside_code(cell.source)), cell.source
    glued = [cell for cell in code if "glue(" in cell]
    assert not glued or "except ImportError" in glued[0]  # glue is the book's own, and missing elsewhere
    assert any(cell.get("outputs") for cell in download.cells)
    text = "\n".join(cell.source for cell in download.cells if cell.cell_type == "markdown")
    for name in re.findall(r"\{glue:text\}`([\w-]+)", (ROOT / f"{page}.md").read_text("utf8")):
        assert f"`{name}`" not in text  # the run's number stands there
    assert not any(cell.get("outputs") for cell in committed.cells)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["book/key-challenges"])
def test_download_runs_without_the_books_tools(site, page, tmp_path):
    """All cells of the download run in an empty folder, in a kernel in which myst_nb cannot be imported."""
    from nbclient import NotebookClient

    download = nbformat.read(site / f"_sources/{page}.ipynb", 4)
    assert "glue(" in json.dumps(download)
    hidden = nbformat.v4.new_code_cell("import sys\nsys.modules['myst_nb'] = None")
    download.cells.insert(0, hidden)
    NotebookClient(
        download, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    printed = "".join(out.get("text", "") for cell in download.cells for out in cell.get("outputs", []))
    assert len(printed) > 100


@pytest.mark.parametrize(
    ("myst", "markdown"),
    [
        ("{cite:t}`ioffe2015,ba2016` say", "[Ioffe & Szegedy (2015)](L), [Ba et al. (2016)](L) say"),
        ("so {cite:p}`ba2016`", "so ([Ba et al., 2016](L))"),
        ("a loss of {glue:text}`loss:.2f`", "a loss of 0.12"),
        ("a loss of {glue:text}`later:.2f`", "a loss of `later`"),
        (
            "[](there.md), [words](there.md#place)",
            "[There](https://x/book/there.html), [words](https://x/book/there.html#place)",
        ),
        ("[](#place)", "[A place](https://x/book/there.html#place)"),
        ("{ref}`words <place>`", "[words](https://x/book/there.html#place)"),
        ("[](../labs/one/one.ipynb)", "[Lab one](https://x/labs/one/one.html)"),
        ("[out](https://y.org/a)", "[out](https://y.org/a)"),
        ("[measured]{.measured}", "*measured*"),
        ("by {eq}`rule`", "by (rule)"),
        ("`{cite:t}` and $a_{b}$ stay", "`{cite:t}` and $a_{b}$ stay"),
        ("(place)=\n## Head", "## Head"),
        ("$$\na = b\n$$ (rule)", "$$\na = b\n\\tag{rule}$$"),
        ("```python\n{cite:t}`x`\n```", "```python\n{cite:t}`x`\n```"),
        ("```{dropdown} Answer\nYes.\n```", "<details>\n<summary>Answer</summary>\n\nYes.\n\n</details>"),
        (":::{admonition} Mind\n:class: tip\nthis\n:::", "> **Mind**\n>\n> this"),
        (
            "```{figure} /_build/figures/a.svg\n:alt: A line.\n\nCaption.\n```",
            "![A line.](https://x/_images/a.svg)\n\nCaption.",
        ),
        ("::::{grid} 1 2\n:::{grid-item} \ninner\n:::\n::::", "inner"),
    ],
)
def test_myst_becomes_markdown(myst, markdown):
    """What a notebook program would show as raw text is said in plain Markdown."""
    assert plain(SITE, myst) == markdown.replace("(L)", "(https://x/book/bibliography.html)")


@pytest.mark.parametrize("myst", ["```{unheard-of}\n```", "{unheard}`of`"])
def test_unknown_syntax_is_an_error(myst):
    """A chapter loses nothing in silence."""
    with pytest.raises(ValueError, match=r"book/here: the (directive|role) .* has no form in a notebook"):
        plain(SITE, myst)


def test_binder_installs_what_the_notebooks_import():
    """binder/ names every package that a chapter imports, in the pinned versions, and runs as a program."""
    post = ROOT / "binder/postBuild"
    assert post.stat().st_mode & 0o111
    text = post.read_text("utf8")
    assert "--constraint constraints.txt" in text
    assert {"matplotlib", "scikit-learn"} <= set(text.split())
    assert " . " in text  # torch and numpy are the course's own requirements
    assert "python=3.12" in (ROOT / "binder/environment.yml").read_text("utf8")
