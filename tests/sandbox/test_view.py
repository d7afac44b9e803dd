"""The view shows programs and packages, wherever Python is installed, and nothing beside them."""

import subprocess
import sys
from pathlib import Path

import pytest

import autograder
from autograder.errors import SandboxError
from autograder.sandbox import view as module
from autograder.sandbox.view import PACKAGE_PARTS, PACKAGE_PATH


@pytest.fixture
def fresh_view(monkeypatch):
    """The view for an interpreter that the test describes."""

    def make(**attributes):
        for name, value in attributes.items():
            monkeypatch.setattr(sys, name, str(value))
        return module.view.__wrapped__()

    return make


def test_the_whole_of_no_broad_folder_is_shown(fresh_view):
    """Neither the root, /usr, /etc, a home, nor the folder of the course or of its environment."""
    course = str(Path(autograder.__file__).parents[1])
    sources = {source for source, _ in fresh_view().binds}
    broad = {"/", "/usr", "/etc", "/home", "/root", "/tmp", "/var", "/opt", course, sys.prefix, sys.base_prefix}
    assert not sources & broad
    assert not any(course.startswith(source + "/") for source in sources)


def test_of_this_package_the_pieces_that_a_lab_imports_are_shown(fresh_view):
    """At a neutral path; grading, the command line and the sandbox itself are not."""
    assert not {"authoring", "cli.py", "commands", "grading", "kernel", "plugins", "sandbox"} & set(PACKAGE_PARTS)
    shown = {place for source, place in fresh_view().binds if source.startswith(str(Path(autograder.__file__).parent))}
    assert shown <= {f"{PACKAGE_PATH}/autograder/{part}" for part in PACKAGE_PARTS}
    assert f"{PACKAGE_PATH}/autograder/__init__.py" in shown


def test_an_environment_made_in_the_courses_own_folder_does_not_show_the_course(fresh_view, tmp_path):
    """`python -m venv .` puts bin and lib beside the solutions."""
    for name in ("bin", "lib", "solutions", "submitted"):
        (tmp_path / name).mkdir()
    (tmp_path / "gradebook.db").touch()
    (tmp_path / "pyvenv.cfg").touch()
    places = {place for _, place in fresh_view(prefix=tmp_path, exec_prefix=tmp_path).binds}
    assert {place for place in places if place.startswith(str(tmp_path))} == {
        f"{tmp_path}/{name}" for name in ("bin", "lib", "pyvenv.cfg")
    }


def test_python_is_found_through_a_chain_of_links(fresh_view, tmp_path):
    """As uv and pyenv make it: the environment's python points to a name that points to the file."""
    real = tmp_path / "real" / "bin" / "python3"
    real.parent.mkdir(parents=True)
    real.touch()
    (tmp_path / "middle").symlink_to("real/bin/python3")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "python").symlink_to(tmp_path / "middle")
    shown = fresh_view(executable=tmp_path / "venv" / "python", base_prefix=tmp_path / "real")
    assert ("real/bin/python3", f"{tmp_path}/middle") in shown.links
    assert (str(tmp_path / "middle"), f"{tmp_path}/venv/python") in shown.links
    assert (str(real.parent), str(real.parent)) in shown.binds


def test_a_course_inside_a_shown_folder_is_covered(fresh_view, monkeypatch, tmp_path):
    """The package installed into the environment keeps its other modules to itself."""
    package = tmp_path / "lib" / "site-packages" / "autograder"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(autograder, "__file__", str(package / "__init__.py"))
    assert fresh_view(prefix=tmp_path, exec_prefix=tmp_path).covers == (str(package),)


def test_a_python_whose_folder_is_the_root_is_refused(fresh_view):
    """Showing it would show everything."""
    with pytest.raises(SandboxError, match="virtual environment"):
        fresh_view(prefix="/", exec_prefix="/")


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("place", ["tmp", "beside-answers"])
def test_an_environment_below_tmp_works(tmp_path, place):
    """The box's own /tmp hides the machine's, and the environment is shown in it all the same."""
    course = tmp_path / place
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", course / ".venv"], check=True)
    (course / "answers.txt").write_text("secret")
    source = (
        "import sys; sys.path[:0] = {path!r}\n"
        "from autograder.sandbox.start import start_box\n"
        "from autograder.sandbox.folder import RunFolder\n"
        "from autograder.sandbox.policy import Limits\n"
        "inside = 'import os, sys; print(sys.prefix, os.listdir(os.path.dirname(sys.prefix)))'\n"
        "box = start_box([sys.executable, '-c', inside], RunFolder(), Limits()).result()\n"
        "print(box.ended.result().tail)\n"
    ).format(path=[str(Path(autograder.__file__).parents[1]), *(path for path in sys.path if "site-packages" in path)])
    done = subprocess.run([course / ".venv" / "bin" / "python", "-c", source], capture_output=True, text=True)
    assert done.stdout.strip() == f"{course / '.venv'} ['.venv']", done.stderr
