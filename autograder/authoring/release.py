"""From a lab's one source, notebook.py, to the notebook that students get in labs/. Byte for byte the same each time.

    solutions/<lab>/notebook.py  --jupytext-->  _build/source/<lab>/<lab>.ipynb  --nbgrader-->  labs/<lab>/<lab>.ipynb
    (percent format, solutions)                 (instructor's, alone in its folder)              (stubs in their place)

The middle folder is nbgrader's source directory. nbgrader copies every other file that lies there to students, so it
holds one notebook and nothing else. Cell ids come from grade ids (from the text for other cells), so that a change in
one cell changes one cell in the released file. The release runs in a temporary course and without a database: a failure
leaves labs/ as it was, and nobody's gradebook is touched.

This is not the grader's side (`grading`), and it executes no cell.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.authoring.stubs import CODE_STUB, TEXT_STUB
from autograder.errors import AutograderError, CourseError

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def labs(course_dir: Path) -> list[str]:
    """Return the names of the labs that have a source, in order."""
    return sorted(path.parent.name for path in Path(course_dir).glob("solutions/*/notebook.py"))


def make_source(course_dir: Path, lab: str) -> Path:
    """Write the instructor's notebook, alone in _build/source/<lab>/, and return its path.

    Raises CourseError when the lab has no notebook.py, or when two cells have one grade id.
    """
    text = instructor_notebook(Path(course_dir), lab)
    folder = Path(course_dir) / "_build" / "source" / lab
    if folder.exists():
        shutil.rmtree(folder)
    return _written(folder / f"{lab}.ipynb", text)


def instructor_notebook(course_dir: Path, lab: str) -> str:
    """Return a lab's source as the text of a notebook: ids set, no outputs, none of jupytext's own metadata."""
    source = course_dir / "solutions" / lab / "notebook.py"
    if not source.is_file():
        known = ", ".join(labs(course_dir)) or "none"
        raise CourseError(f"The lab {lab!r} has no source: {source} is missing. Labs with a source here: {known}.")
    try:
        notebook: NotebookNode = jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent")
    except ValueError as problem:
        raise CourseError(f"{source} is not in jupytext's percent format: {problem}. Mend that cell.") from problem
    notebook.metadata = METADATA
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: set[str] = set()
    for cell in notebook.cells:
        _normalize(cell)
        if cell.id in seen:
            raise CourseError(f"Two cells of {source} have the id {cell.id!r}; change one of them.")
        seen.add(cell.id)
    return str(nbformat.writes(notebook)) + "\n"  # type: ignore[no-untyped-call]


def student_notebook(course_dir: Path, lab: str) -> str:
    """Return the text of the notebook that students get; nothing in the course is written.

    Raises CourseError with nbgrader's own last words when nbgrader refuses the notebook.
    """
    instructors = instructor_notebook(course_dir, lab)
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        root = Path(scratch).resolve()
        _written(root / "source" / lab / f"{lab}.ipynb", instructors)
        return _generate_assignment(root, lab).read_text(encoding="utf-8").rstrip("\n") + "\n"


def make_release(course_dir: Path, lab: str, out_dir: Path | None = None) -> Path:
    """Write the students' notebook to <out_dir>/<lab>/<lab>.ipynb (out_dir: labs/ of the course) and return its path.

    The instructor's notebook is written too, for nbgrader's own commands. Raises CourseError as student_notebook does.
    """
    released = student_notebook(Path(course_dir), lab)
    make_source(course_dir, lab)
    return _written(Path(out_dir or Path(course_dir) / "labs") / lab / f"{lab}.ipynb", released)


def stale(course_dir: Path) -> list[str]:
    """Return one sentence for each file in labs/ that is not what its source gives now; none when all is fresh."""
    root = Path(course_dir) / "labs"
    fresh = {Path(lab) / f"{lab}.ipynb": student_notebook(Path(course_dir), lab) for lab in labs(course_dir)}
    files = (path for path in root.rglob("*") if path.is_file() and ".ipynb_checkpoints" not in path.parts)
    found = {path.relative_to(root): path.read_bytes() for path in files}
    sentences = []
    for path in sorted(fresh.keys() | found.keys()):
        if path not in found:
            sentences.append(f"labs/{path} is missing; run `make labs`.")
        elif path not in fresh:
            sentences.append(f"labs/{path} comes from no source; delete it or add its lab.")
        elif found[path] != fresh[path].encode():
            sentences.append(f"labs/{path} is not what solutions/{path.parts[0]}/notebook.py gives; run `make labs`.")
    return sentences


def main(argv: Sequence[str] | None = None) -> int:
    """Run `make [LAB ...]` or `check`. Return 0 when done or fresh, 1 when stale or refused, 2 for a usage error."""
    parser = argparse.ArgumentParser(prog="autograder labs", description="Make the notebooks that students get.")
    parser.add_argument("action", choices=["make", "check"])
    parser.add_argument("lab", nargs="*", help="which labs to make (all of them if none is named)")
    parser.add_argument("--course", type=Path, default=Path(), help="the folder that holds solutions/ and labs/")
    given = parser.parse_args(argv)
    try:
        if given.action == "check":
            sentences = stale(given.course)
            print("\n".join(sentences) or f"labs/ is fresh ({len(labs(given.course))} made from their sources).")
            return 1 if sentences else 0
        for lab in given.lab or labs(given.course):
            print(f"made {make_release(given.course, lab)}")
    except AutograderError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _normalize(cell: NotebookNode) -> None:
    """Give the cell its id; keep only what nbgrader and the website read."""
    cell.metadata = {key: cell.metadata[key] for key in ("nbgrader", "tags") if key in cell.metadata}
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    digest = hashlib.sha256(cell.source.encode()).hexdigest()[:12]
    cell.id = cell.metadata.get("nbgrader", {}).get("grade_id") or f"{cell.cell_type}-{digest}"


def _generate_assignment(root: Path, lab: str) -> Path:
    """Run nbgrader's own converter on root/source/<lab>; return the path of the released notebook.

    Its step SaveCells is left out: it writes the gradebook and leaves the notebook as it is.
    """
    from nbgrader.converters import GenerateAssignment  # half a second, which `labs check --help` need not pay
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.preprocessors import SaveCells
    from traitlets.config import Config

    config = Config()
    config.ClearSolutions.code_stub = {"python": CODE_STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    steps = [step for step in GenerateAssignment.preprocessors.default() if step is not SaveCells]
    course = CourseDirectory(config=config, root=str(root), assignment_id=lab)
    words: list[str] = []
    listener = logging.Handler(logging.ERROR)
    listener.emit = lambda record: words.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.Logger("release")  # a private one: nbgrader's chatter is not the author's business
    log.addHandler(listener)
    try:
        GenerateAssignment(coursedir=course, config=config, log=log, preprocessors=steps, no_database=True).start()
    except Exception as problem:  # nbgrader raises one class for all, and logs the cause
        cause = next((text.strip().splitlines()[-1] for text in words if "Traceback" in text), str(problem))
        sentence = f"nbgrader refuses the notebook of {lab}: {cause}. Mend solutions/{lab}/notebook.py."
        raise CourseError(sentence) from problem
    return root / "release" / lab / f"{lab}.ipynb"


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
