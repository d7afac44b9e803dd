"""Makes notebooks of the chapters: those in book/notebooks, which Colab and Binder open, and the site's downloads.

    make notebooks        writes book/notebooks/NAME.ipynb for every page of _toc.yml that has code, without outputs

The page is the only source. Both kinds have the same code and the same text, in Markdown that needs no book; a download
holds the outputs of the site's own run as well, and names no number that the run can fill in.
"""

from __future__ import annotations

import ast
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from docutils import nodes
from jupyter_cache import get_cache
from nbformat import NotebookNode
from pybtex.database import parse_file
from sphinx.application import Sphinx

from .plain import HEADING, LABEL, Site, plain
from .results import filled

FOLDER = Path("book/notebooks")
HIDDEN = {"remove-cell", "remove-input", "hide-cell", "hide-input"}
FIRST = """*This notebook is made from [a page of the course]({address}), where the text has its figures and numbers. \
It needs {packages}.*"""
PACKAGES = "torch, numpy, matplotlib and scikit-learn"


def notebook_of(page: str) -> str:
    """Return the path of a page's committed notebook."""
    return f"{FOLDER}/{page.rsplit('/', 1)[-1]}.ipynb"


def listed_pages(root: Path) -> list[str]:
    """Return the pages of _toc.yml, in order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf8"))
    return [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]


def executed_pages(root: Path) -> list[str]:
    """Return the pages of _toc.yml that have code cells."""
    pages = [page for page in listed_pages(root) if (root / f"{page}.md").exists()]
    return [page for page in pages if "```{code-cell}" in (root / f"{page}.md").read_text("utf8")]


def headings(text: str) -> tuple[str, dict[str, str]]:
    """Return a page's title, and the heading or name that follows each of its labels."""
    title, labels, waiting = "", {}, []
    fence = ""  # of the block that the line is in; a heading in it is code, or a box's own
    for line in text.splitlines():
        heading, label, name = HEADING.match(line), LABEL.match(line), re.match(r"^:(?:name|label): *(\S+)$", line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
        if name:
            labels[name[1]] = name[1].replace("-", " ")
        elif label and not fence:
            waiting.append(label[1])
        elif heading and not fence:
            title = title or heading[1]
            labels.update(dict.fromkeys(waiting, heading[1]))
            waiting = []
        elif line.strip():
            labels.update({lost: lost.replace("-", " ") for lost in waiting})
            waiting = []
    return title, labels


@cache
def bibliography(path: Path) -> dict[str, tuple[str, str]]:
    """Return authors and year of each work, by key."""
    works = {}
    for key, entry in parse_file(str(path)).entries.items():
        names = [
            " ".join([*person.prelast_names, *person.last_names]).strip("{}")
            for person in entry.persons.get("author", [])
        ]
        authors = (
            names[0] + " et al." if len(names) > 2 else " & ".join(names) or entry.fields.get("title", key).strip("{}")
        )
        works[key] = (authors, entry.fields.get("year", "n.d."))
    return works


@cache
def surroundings(root: Path) -> dict[str, Any]:
    """Return what a page's text can refer to: the site's address, titles, labels, works."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf8"))
    titles, labels = {}, {}
    for page in listed_pages(root):
        if (root / f"{page}.md").exists():
            titles[page], here = headings((root / f"{page}.md").read_text("utf8"))
            labels.update({label: (page, heading) for label, heading in here.items()})
        else:
            cells = nbformat.read(root / f"{page}.ipynb", as_version=4).cells
            titles[page] = (
                next(cell.source for cell in cells if cell.cell_type == "markdown").split("\n")[0].lstrip("# ")
            )
    base = (config["html"].get("baseurl") or "").rstrip("/") + "/"
    return {"base": base, "titles": titles, "labels": labels, "works": bibliography(root / "book/references.bib")}


def values_of_run(cells: list[NotebookNode]) -> dict[str, object]:
    """Return what the run handed to the text, by name."""
    values: dict[str, object] = {}
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        about = output.get("metadata", {}).get("scrapbook")
        if about:
            text = output["data"].get(about.get("mime_prefix", "") + "text/plain", "")
            try:
                values[about["name"]] = ast.literal_eval(text)
            except (SyntaxError, ValueError):
                values[about["name"]] = text
    return values


def notebook(root: Path, page: str, cells: list[NotebookNode]) -> NotebookNode:
    """Return the notebook of a page whose cells hold MyST and, if it was run, what they printed."""
    site = Site(page=page, values=values_of_run(cells), **surroundings(root))
    first = FIRST.format(address=site.address(page), packages=PACKAGES)
    made = [nbformat.v4.new_markdown_cell(first)]
    for cell in cells:
        if cell.cell_type == "markdown":
            text = plain(site, cell.source)
            if text:
                made.append(nbformat.v4.new_markdown_cell(text))
            continue
        metadata = {"jupyter": {"source_hidden": True}} if HIDDEN & set(cell.metadata.get("tags", [])) else {}
        outputs = [output for output in cell.get("outputs", []) if "scrapbook" not in output.get("metadata", {})]
        count = cell.get("execution_count")
        made.append(nbformat.v4.new_code_cell(cell.source, metadata=metadata, outputs=outputs, execution_count=count))
    for place, cell in enumerate(made):
        cell["id"] = f"cell-{place}"  # nbformat's own ids are drawn by chance
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def from_source(root: Path, page: str) -> str:
    """Return the text of a page's committed notebook; exit with a sentence when a result that it quotes is missing."""
    text, _ = filled(root, (root / f"{page}.md").read_text("utf8"), sys.exit)
    return nbformat.writes(notebook(root, page, jupytext.reads(text, "md:myst").cells)) + "\n"


def rewrite_download(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the notebook that a page offers for download.

    The theme has put the page's MyST there; when nothing ran anew, without outputs, which the cache still has.
    """
    if not context.get("ipynb_source"):
        return
    executed = nbformat.read(Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.ipynb", as_version=4)
    with suppress(KeyError):  # an emptied cache
        _, executed = get_cache(app.config.nb_execution_cache_path).merge_match_into_notebook(executed)
    nbformat.write(
        notebook(Path(app.srcdir), pagename, executed.cells), Path(app.outdir) / "_sources" / context["ipynb_source"]
    )


def main() -> None:
    """Write the committed notebooks, and remove those whose page is gone."""
    root = Path.cwd()
    wanted = {root / notebook_of(page): page for page in executed_pages(root)}
    (root / FOLDER).mkdir(exist_ok=True)
    for path in set((root / FOLDER).glob("*.ipynb")) - set(wanted):
        path.unlink()
    for path, page in wanted.items():
        path.write_text(from_source(root, page), "utf8")
    print(f"{len(wanted)} notebooks written to {FOLDER}")
