"""`autograder try` on the reference of every lab: full points, no diagnosis; without one of its names: the others keep theirs."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.cli import main
from autograder.grading.course import lab_names, load_lab

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_names(ROOT)
OWN_IMPORT = re.compile(r"^from solutions\..*$|^from __future__.*$", re.MULTILINE)
# The checks of lab 3 compare with references of their own, which round as ordinary code does; what is tried is what is read.
READ = {"lab03_group_norm": ("solutions.reference.group_norm",)}

pytestmark = pytest.mark.sandbox


def reference(name: str) -> str:
    """The modules of a lab's reference as one file, as a student could write it: without imports of ours."""
    lab = load_lab(ROOT, name)
    modules = READ.get(name) or tuple(dict.fromkeys(lab.reference[n].__module__ for n in lab.contract))
    # What one module imports of the other must stand above it.
    modules = tuple(sorted(modules, key=lambda module: len(re.findall("^from solutions", _text(module), re.MULTILINE))))
    return "\n\n".join(OWN_IMPORT.sub("", _text(module)) for module in modules)


def _text(module: str) -> str:
    __import__(module)
    return inspect.getsource(sys.modules[module])


def tried(lab: str, text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command prints as JSON; its exit code is 0."""
    (folder / "solution.py").write_text(text, encoding="utf-8")
    assert main(["try", lab, str(folder / "solution.py"), "--json", "--seed", "11", "--course", str(ROOT)]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("lab", LABS)
def test_the_reference_gets_full_points(lab: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the sandbox, as one plain file."""
    report = tried(lab, reference(lab), tmp_path, capsys)
    assert [check["message"] for check in report["checks"] if not check["passed"]] == []
    assert report["points"] == report["max_points"] > 20
    assert {check["exercise"] for check in report["checks"]} == set(load_lab(ROOT, lab).contract)
    assert not any(check["diagnosis"] for check in report["checks"])


@pytest.mark.parametrize("lab", LABS)
def test_a_name_that_is_missing_costs_its_own_points_and_no_others(
    lab: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last of the contract's names, deleted at the end of the file."""
    missing = load_lab(ROOT, lab).contract[-1]
    report = tried(lab, f"{reference(lab)}\n\ndel {missing}\n", tmp_path, capsys)
    failed = {check["exercise"] for check in report["checks"] if not check["passed"]}
    assert failed == {missing}
    assert all(f"{missing} is not defined" in c["message"] for c in report["checks"] if c["exercise"] == missing)
