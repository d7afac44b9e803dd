"""Builds the website: `python scripts/build_book.py [full|student]`. Offline; a Sphinx warning or a dead reference is an error.

The student edition lacks the pages that show the labs' solutions. It lies in a folder of its own and shares with the
full one what the pages' code printed, so that building it runs nothing again.

Only pages that changed are read. A warning is given when a page is read, so after a failed build the store of read pages
is dropped: otherwise the next build would find nothing to complain about and pass.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = {"full": set[str](), "student": {"book/reference-implementations"}}
FOLDERS = {"full": ROOT / "_build", "student": ROOT / "_build/student/_build"}  # Jupyter Book adds the last name itself


def site_folder(edition: str) -> Path:
    """Where the edition's pages lie."""
    return FOLDERS[edition] / "html"


def table_of_contents(edition: str) -> Path:
    """The edition's table of contents, which is written unless it is the course's own."""
    left_out = LEFT_OUT[edition]
    if not left_out:
        return ROOT / "_toc.yml"
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
    for part in toc["parts"]:
        part["chapters"] = [chapter for chapter in part["chapters"] if chapter["file"] not in left_out]
    toc["parts"] = [part for part in toc["parts"] if part["chapters"]]
    path = FOLDERS[edition].parent / "_toc.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(toc, sort_keys=False), "utf8")
    return path


def build(edition: str, *options: str, **run_options: object) -> subprocess.CompletedProcess:
    """Run Jupyter Book for an edition; its further options and those of subprocess.run are handed on."""
    toc = table_of_contents(edition)
    start = "from jupyter_book.cli.main import main; main()"
    strict = ["-W", "-n", "--keep-going"]
    where = ["--toc", str(toc), "--path-output", str(FOLDERS[edition].parent)]
    command = [sys.executable, "-c", start, "build", ".", *where, *strict, *options]
    environment = {"OMP_NUM_THREADS": "1"} | os.environ
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, **run_options)
    if done.returncode:
        shutil.rmtree(FOLDERS[edition] / ".doctrees", ignore_errors=True)
    return done


def main(edition: str) -> None:
    """Build one edition and say where it lies."""
    if edition not in FOLDERS:
        sys.exit(f"book: there is no edition {edition}; EDITION can be {' or '.join(FOLDERS)}.")
    if build(edition).returncode:
        sys.exit("book: the build stopped with the errors above; a warning counts as one.")
    print(f"book: the {edition} edition lies in {site_folder(edition).relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "full")
