"""A box sees no file of the grader's: not the course, the gradebook, another submission, nor the machine's users."""

import os
from pathlib import Path

import pytest

import autograder

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
        print("read", path)
    except FileNotFoundError:
        print("absent", path)
"""


def test_no_file_of_the_grader_exists_in_the_box(attack, outside, tmp_path):
    """The same program reads them all outside."""
    course = Path(autograder.__file__).parents[1]
    (tmp_path / "gradebook.db").write_text("secret")
    (tmp_path / "submitted").mkdir()
    (tmp_path / "submitted" / "other.ipynb").write_text("{}")
    paths = [tmp_path / "gradebook.db", tmp_path / "submitted" / "other.ipynb", "/etc/passwd", "/etc/shadow"]
    paths += [course / "pyproject.toml", course / "autograder" / "checks" / "check.py", course / "tests"]
    paths += [course / "autograder" / "sandbox", "/var/log", "/home", "/boot", "/run", "/etc/ssh", "/usr/src"]
    paths = [path for path in paths if os.path.exists(path)]
    assert outside(SOURCE, *paths) == [f"read {path}" for path in paths]
    assert attack(SOURCE, *paths).lines == [f"absent {path}" for path in paths]


def test_what_lies_around_the_environment_is_not_shown(attack):
    """The folder that holds .venv exists in the box, and holds nothing else."""
    outcome = attack("import os, sys; print(*sorted(os.listdir(os.path.dirname(sys.prefix))))")
    assert outcome.lines == [os.path.basename(os.environ.get("VIRTUAL_ENV", ".venv"))]
