"""The layers are the security boundary: reads every import of the project and follows the arrows.

Sees: import statements at any depth, relative ones, `from autograder import part`, and
`importlib.import_module` or `__import__` with a literal name, in Python files, in the code cells of
the book's pages and in the labs. Does not see: names put together while running, text that is sent to a
kernel, or a folder that is loaded by path (which is how the grader is given a lab's solutions).
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXTERNAL = sys.stdlib_module_names
OURS = {"autograder", "solutions", "book", "tests", "nbgrader_config", "scripts"}


@dataclass(frozen=True)
class Layer:
    """What the files of one layer may import; `outside=None` allows any third-party package."""

    ours: frozenset[str]
    outside: frozenset[str] | None = None


def layer(ours: str = "", outside: str | None = None) -> Layer:
    """Builds a Layer from space-separated names."""
    return Layer(frozenset(ours.split()), None if outside is None else frozenset(outside.split()))


# A layer may always import itself. "autograder" alone is the package's __init__, which holds nothing.
LOWER = "autograder autograder.errors autograder.trace"
GRADING = f"{LOWER} autograder.probe autograder.checks autograder.sandbox autograder.kernel"
LAYERS = {
    "autograder": layer(outside=""),
    "autograder.errors": layer("autograder", outside=""),
    "autograder.trace": layer("autograder autograder.errors", outside="numpy safetensors"),
    "autograder.probe": layer(LOWER, outside="numpy safetensors torch"),
    "autograder.checks": layer(LOWER, outside="numpy"),
    # Runs in boxes, before and beside student code; the grader starts it by name and never imports it.
    "autograder.template": layer("autograder", outside="IPython ipykernel jupyter_client tornado"),
    "autograder.sandbox": layer("autograder autograder.errors"),
    "autograder.kernel": layer("autograder autograder.errors autograder.sandbox"),
    "autograder.grading": layer(GRADING),
    "autograder.plugins": layer(f"{GRADING} autograder.grading"),
    # The practice files and what `check` shows of them: data and words, no torch and no student's object.
    "autograder.practice": layer(f"{LOWER} autograder.checks", outside=""),
    "autograder.authoring": layer(f"{GRADING} autograder.grading autograder.practice"),
    # IPython only where it runs already: it shows the page.
    "autograder.student": layer(f"{LOWER} autograder.probe autograder.checks autograder.practice", outside="IPython"),
    # Dask comes in here and nowhere else; it is imported only when it is asked for.
    "autograder.cluster": layer(f"{GRADING} autograder.grading"),
    "autograder.commands": layer(f"{GRADING} autograder.grading autograder.plugins autograder.cluster"),
    "autograder.cli": layer(
        f"{GRADING} autograder.grading autograder.plugins autograder.cluster autograder.authoring autograder.student"
        " autograder.commands"
    ),
    "autograder.__main__": layer("autograder autograder.cli"),
    "solutions": layer(f"{LOWER} autograder.checks"),
    # A lab's notebook.py holds the cells that students run, so it imports what they import.
    "solutions notebook": layer(f"{LOWER} autograder.checks autograder.student"),
    "labs": layer("autograder autograder.student"),
    "book": layer(f"{LOWER} autograder.probe autograder.checks autograder.student"),
}


def layer_of(module: str) -> str:
    """The layer a dotted module name belongs to: its first two parts in autograder, else its first."""
    parts = module.split(".")
    if parts[0] == "solutions" and parts[-1] == "notebook":
        return "solutions notebook"
    return ".".join(parts[:2]) if parts[0] == "autograder" else parts[0]


def imported_names(source: str, module: str, *, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """Yields (line, dotted name) of everything that the source of `module` imports."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = absolute("." * node.level + (node.module or ""), package)
            # `from autograder import grading` imports the module autograder.grading.
            for alias in node.names:
                yield node.lineno, f"{start}.{alias.name}" if start in OURS else start
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            name = node.args[0].value
            if called in ("import_module", "__import__") and isinstance(name, str):
                yield node.lineno, absolute(name, package)


def absolute(name: str, package: str) -> str:
    """The full name of a name as `package` writes it: "..trace" in autograder.probe is autograder.trace."""
    bare = name.lstrip(".")
    level = len(name) - len(bare)
    if not level:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *([bare] if bare else [])])


def target_layer(name: str) -> str:
    """The layer of an imported name; a value imported from the package itself belongs to "autograder"."""
    found = layer_of(name)
    return found if found in LAYERS or not found.startswith("autograder.") else "autograder"


def wrong_arrows(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """A sentence for every import of `source` that its layer does not allow."""
    own = layer_of(module)
    if own not in LAYERS:
        return [f"{module}: no layer is defined for {own}; add it to LAYERS in tests/test_layers.py."]
    rules, findings = LAYERS[own], []
    for line, name in imported_names(source, module, is_package=is_package):
        top = name.split(".")[0]
        if top in OURS:
            target = target_layer(name)
            same = target == own or target.split(" ")[0] == own.split(" ")[0] == "solutions"
            if not same and target not in rules.ours:
                findings.append(f"{module}:{line} imports {name}; {own} may not import {target}.")
        elif top not in EXTERNAL and rules.outside is not None and top not in rules.outside:
            findings.append(f"{module}:{line} imports {name}; {own} may not import {top}.")
    return findings


def python_code(path: Path) -> str:
    """The Python of a .py file, of a page's code cells, or of a notebook, with magics blanked out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        cells = re.findall(r"^```+\{code-cell\}[^\n]*\n(.*?)^```+", text, re.MULTILINE | re.DOTALL)
        text = "\n".join(re.sub(r"\A---\n.*?^---\n|^:[^\n]*\n", "", c, flags=re.M | re.S) for c in cells)
    elif path.suffix == ".ipynb":
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
        text = "\n".join("".join(c["source"]) for c in cells)
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", text, flags=re.M) if path.suffix != ".py" else text


def project_files() -> list[Path]:
    """Every file of the layers above that can import something."""
    found: list[Path] = []
    for folder, suffixes in (
        ("autograder", [".py"]),
        ("solutions", [".py"]),
        ("book", [".py", ".md"]),
        ("labs", [".ipynb"]),
    ):
        found += [p for p in sorted((ROOT / folder).rglob("*")) if p.suffix in suffixes and "vendor" not in p.parts]
    return found


def module_name(path: Path) -> str:
    """The dotted name of a file from the project's root."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_layer_of_the_package_is_looked_at() -> None:
    seen = {layer_of(module_name(path)) for path in project_files()}
    for part in ("trace", "probe", "checks", "sandbox", "kernel", "grading"):
        assert f"autograder.{part}" in seen
    assert {"solutions", "book"} <= seen


@pytest.mark.parametrize("path", project_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_points_against_the_arrows(path: Path) -> None:
    findings = wrong_arrows(python_code(path), module_name(path), is_package=path.name == "__init__.py")
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("autograder.trace.codec", "import torch"),
        ("autograder.trace.codec", "from autograder.probe import run"),
        ("autograder.trace.codec", "from ..checks.check import Check"),
        ("autograder.probe.run", "from autograder.checks.compare import compare"),
        ("autograder.probe.run", "import scipy.stats"),
        ("autograder.checks.compare", "import torch"),
        ("autograder.checks.compare", "def f():\n    from autograder.grading import report"),
        ("autograder.checks.compare", "from autograder import grading"),
        ("autograder.checks", "from .. import grading"),
        ("autograder.sandbox.box", "from autograder.kernel.client import KernelSession"),
        ("autograder.kernel.client", "import autograder.grading.report as r"),
        ("autograder.grading.grade", "from autograder.plugins import execute"),
        ("autograder.grading.pool", "from autograder.cluster.executor import ClusterExecutor"),
        ("autograder.cluster.process", "from autograder.plugins.record import Recorder"),
        ("autograder.grading.course", "import importlib\nimportlib.import_module('solutions.lab01_batch_norm')"),
        ("autograder.grading.course", "__import__('solutions')"),
        ("autograder.grading.course", "from importlib import import_module\nimport_module('..plugins', __package__)"),
        ("autograder.cli", "from solutions.reference.batch_norm import BatchNorm1d"),
        ("autograder.cli", "if False:\n    import tests.demo"),
        ("autograder.student", "from autograder.grading.grade import grade_notebook"),
        ("autograder.student", "import torch"),
        ("autograder.practice.file", "from autograder.authoring import fingerprints"),
        ("autograder.practice.naming", "from autograder.probe.run import run"),
        ("autograder.practice.view", "from jinja2 import Environment"),
        ("autograder.errors", "import numpy"),
        ("autograder", "from autograder.grading import grade"),
        ("autograder.novelty.thing", "import json"),
        ("solutions.lab01_batch_norm.checks", "from autograder.grading import grade"),
        ("solutions.lab01_batch_norm.checks", "from autograder.probe.run import run"),
        ("solutions.lab01_batch_norm.mistakes", "from autograder.student import check"),
        ("book.figures.one", "from solutions.reference import batch_norm"),
        ("book.page", "from autograder.grading.report import Report"),
        ("labs.lab01_batch_norm.lab01", "import solutions"),
    ],
)
def test_an_arrow_the_wrong_way_is_found(module: str, source: str) -> None:
    assert wrong_arrows(source, module, is_package=module in ("autograder", "autograder.checks"))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("autograder.trace.codec", "import json, numpy as np\nfrom safetensors.numpy import save"),
        ("autograder.trace.codec", "from .scenario import Scenario\nfrom ..errors import ProtocolError"),
        ("autograder.probe.run", "import torch\nfrom autograder.trace import trace"),
        ("autograder.grading.grade", "from autograder import __version__, kernel"),
        ("autograder.cli", "from autograder.authoring.release import release"),
        ("solutions.lab01_batch_norm.checks", "from solutions.reference.batch_norm import BatchNorm1d\nimport torch"),
        ("solutions.lab01_batch_norm.notebook", "from autograder.student import check"),
        ("book.figures.one", "import matplotlib.pyplot as plt"),
    ],
)
def test_an_arrow_the_right_way_is_left_alone(module: str, source: str) -> None:
    assert wrong_arrows(source, module) == []


def test_the_code_of_pages_and_notebooks_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text\n\n```{code-cell} ipython3\n:tags: [hide-input]\nimport solutions\n%matplotlib inline\n```\n")
    lab = tmp_path / "lab.ipynb"
    lab.write_text(json.dumps({"cells": [{"cell_type": "code", "source": ["!ls\n", "import solutions"]}]}))
    for path in (page, lab):
        assert [name for _, name in imported_names(python_code(path), "book.page")] == ["solutions"]
