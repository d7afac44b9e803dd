"""The Makefile, run in a copy of the tree where the virtual environment and its Python are fakes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASH = shutil.which("bash") or "/bin/bash"
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What `make setup` reads, with a .venv whose Python only writes down what it was asked."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / "autograder" / "kernel" / "kernelspec", tmp_path / "autograder" / "kernel" / "kernelspec")
    fake_python(tmp_path / ".venv" / "bin" / "python", tmp_path / "log")
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    (tmp_path / "log").touch()
    return tmp_path


def fake_python(path: Path, log: Path, body: str = "exit 0") -> None:
    """Writes an executable that logs its arguments, then runs `body`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!{BASH}\necho "$*" >> "{log}"\n{body}\n')
    path.chmod(0o755)


def make(tree: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs make in the tree, without what an outer make handed down and without system packages."""
    outer = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PYTHON", "TORCH_INDEX"))}
    return subprocess.run(
        ["make", "SYSTEM=skip", *arguments],
        cwd=tree,
        env=outer | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def pip_lines(tree: Path) -> list[str]:
    """The installs that the fake Python was asked for."""
    return [line for line in (tree / "log").read_text().splitlines() if " install " in line]


def test_make_alone_lists_every_target_and_does_nothing(tree: Path) -> None:
    listed = make(tree).stdout
    phony = re.search(r"^\.PHONY: (help .*)$", MAKEFILE, re.MULTILINE)
    assert phony
    for target in phony[1].split():
        assert re.search(rf"^  make {target} +\S", listed, re.MULTILINE), f"{target} is not in the help"
    assert pip_lines(tree) == []


def test_every_target_that_needs_packages_sets_them_up_first() -> None:
    benches = ("bench", "bench-soak", "bench-diagnosis")
    for target in ("demo", "test", "test-fast", "labs", *benches, "book", "notebooks", "seed-map", "format", "lock"):
        assert re.search(rf"^{target}: setup ##", MAKEFILE, re.MULTILINE)
    for target in ("serve", "pdf"):
        assert re.search(rf"^{target}: book ##", MAKEFILE, re.MULTILINE)


def test_setup_installs_the_pinned_versions_of_every_extra(tree: Path) -> None:
    result = make(tree, "setup")
    assert result.returncode == 0, result.stdout + result.stderr
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    install = pip_lines(tree)[-1]
    assert "--constraint constraints.txt" in install
    named = re.search(r"--editable \.\[(.*)\]", install)
    assert named
    assert set(named[1].split(",")) == set(extras)
    assert not any(" torch" in line for line in pip_lines(tree))


def test_a_second_setup_does_nothing_and_takes_no_time(tree: Path) -> None:
    make(tree, "setup")
    (tree / "log").write_text("")
    start = time.perf_counter()
    result = make(tree, "setup")
    assert time.perf_counter() - start < 1
    assert result.returncode == 0
    assert (tree / "log").read_text() == ""


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt", "autograder/kernel/kernelspec/kernel.json"])
def test_setup_runs_again_when_an_input_changed(tree: Path, changed: str) -> None:
    make(tree, "setup")
    (tree / "log").write_text("")
    later_s = time.time() + 10
    os.utime(tree / changed, (later_s, later_s))
    assert make(tree, "setup").returncode == 0
    assert pip_lines(tree)


def test_a_failed_install_is_explained_and_tried_again(tree: Path) -> None:
    python = tree / ".venv" / "bin" / "python"
    fake_python(python, tree / "log", 'if [[ "$*" == *--editable* ]]; then exit 1; fi')
    failed = make(tree, "setup")
    assert failed.returncode != 0
    assert "PIP_FIND_LINKS" in failed.stderr
    fake_python(python, tree / "log")
    (tree / "log").write_text("")
    assert make(tree, "setup").returncode == 0
    assert pip_lines(tree)


@pytest.mark.parametrize(
    ("where", "option"),
    [
        ("https://index.example/cpu", "--index-url https://index.example/cpu"),
        ("wheels", "--no-index --find-links wheels"),
    ],
)
def test_torch_comes_from_where_the_user_says_and_the_rest_does_not(tree: Path, where: str, option: str) -> None:
    assert make(tree, "setup", f"TORCH_INDEX={where}").returncode == 0
    with_option = [line for line in pip_lines(tree) if option in line]
    assert [line.split()[-1] for line in with_option] == ["torch"]


def test_an_unsupported_python_is_named_with_what_to_do(tree: Path) -> None:
    shutil.rmtree(tree / ".venv")
    old = tree / "old-python"
    fake_python(old, tree / "log", 'if [[ "$1" == --version ]]; then echo "Python 3.10.4"; else exit 1; fi')
    result = make(tree, "setup", f"PYTHON={old}")
    assert result.returncode != 0
    assert "needs Python 3.11, 3.12 or 3.13" in result.stderr
    assert "Python 3.10.4" in result.stderr
    assert "make setup PYTHON=" in result.stderr


def test_a_python_that_cannot_make_environments_is_named_with_what_to_do(tree: Path) -> None:
    shutil.rmtree(tree / ".venv")
    body = 'case "$2" in *ensurepip*) exit 1 ;; *print*) echo 3.12 ;; esac'
    fake_python(tree / "bare-python", tree / "log", body)
    result = make(tree, "setup", f"PYTHON={tree / 'bare-python'}")
    assert result.returncode != 0
    assert "apt-get install python3.12-venv" in result.stderr


def test_an_environment_whose_python_is_gone_is_made_anew(tree: Path) -> None:
    (tree / ".venv" / "bin" / "python").unlink()
    (tree / ".venv" / "leftover").touch()
    body = 'if [[ "$1 $2" == "-m venv" ]]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; touch "$3/pyvenv.cfg"; fi'
    fake_python(tree / "new-python", tree / "log", body)
    result = make(tree, "setup", f"PYTHON={tree / 'new-python'}")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "making it anew" in result.stdout
    assert not (tree / ".venv" / "leftover").exists()
    assert pip_lines(tree)


def test_something_else_called_venv_is_not_deleted(tree: Path) -> None:
    (tree / ".venv" / "pyvenv.cfg").unlink()
    (tree / ".venv" / "thesis.txt").touch()
    result = make(tree, "setup")
    assert result.returncode != 0
    assert "move it away" in result.stderr
    assert (tree / ".venv" / "thesis.txt").exists()


def test_clean_keeps_what_belongs_to_students(tree: Path) -> None:
    kept = ["submitted/ada/lab/lab.ipynb", "autograded/ada/lab/lab.ipynb", "feedback/ada/lab.html", "gradebook.db"]
    for name in [*kept, "_build/html/index.html", "autograder/__pycache__/x.pyc"]:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    assert make(tree, "clean").returncode == 0
    assert all((tree / name).exists() for name in kept)
    assert (tree / ".venv").exists()
    assert not (tree / "_build").exists()
    assert not (tree / "autograder" / "__pycache__").exists()


def test_jobs_run_one_after_another(tree: Path) -> None:
    assert re.search(r"^\.NOTPARALLEL:", MAKEFILE, re.MULTILINE)
    assert make(tree, "-j8", "setup").returncode == 0
    assert len([line for line in pip_lines(tree) if "--editable" in line]) == 1


def test_the_pythons_that_are_accepted_are_those_of_the_package() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    found = re.search(
        r"\(3, (\d+)\) <= sys\.version_info\[:2\] <= \(3, (\d+)\)", (ROOT / "scripts/find-python.sh").read_text()
    )
    assert found
    assert required == f">=3.{found[1]},<3.{int(found[2]) + 1}"
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text())
    assert matrix
    assert re.findall(r"\d\.\d+", matrix[1]) == [f"3.{minor}" for minor in range(int(found[1]), int(found[2]) + 1)]


def test_continuous_integration_only_calls_the_targets() -> None:
    assert re.search(r"^exec make test$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    steps = re.findall(r"- run: (.*)", (ROOT / ".github/workflows/ci.yml").read_text())
    assert [s for s in steps if not s.startswith("sudo sysctl")] == [
        "bash .ci/run",
        "make demo PYTHON=python",
        "make bench PYTHON=python BENCH_ARGS=--small",
    ]
