"""What leaves the house: the wheel, the pins, and what the tracked files say about this machine."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built by the build backend itself, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = folder.glob("*.whl")
    return built


def archived(raw: bytes, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yields (name, text) of every file of a zip archive, and of the archives in it (practice files are zips)."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            if zipfile.is_zipfile(io.BytesIO(content)):
                yield from archived(content, f"{prefix}{name}/")
            else:
                yield prefix + name, content.decode("utf-8", "replace")


def code_windows(text: str, lines: int = 3) -> Iterator[str]:
    """Runs of consecutive code lines, stripped, that are long enough to be nobody else's."""
    code = [line.strip() for line in text.splitlines()]
    code = [line for line in code if line and not line.startswith(("#", "import ", "from ", '"""'))]
    for start in range(len(code) - lines + 1):
        window = "\n".join(code[start : start + lines])
        if len(window) >= 90:
            yield window


def leaked(secrets: dict[str, str], public: dict[str, str]) -> list[str]:
    """Names the secret and the public file for every run of code lines that stands in both."""
    stripped = {
        name: "\n".join(line.strip() for line in text.splitlines() if line.strip()) for name, text in public.items()
    }
    return [
        f"{name} has code of {secret}: {window.splitlines()[0]}"
        for secret, text in secrets.items()
        for window in code_windows(text)
        for name, open_text in stripped.items()
        if window in open_text
    ]


def solution_sources() -> dict[str, str]:
    """The text of everything under solutions/."""
    return {str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / "solutions").rglob("*.py"))}


def test_the_wheel_holds_the_package_and_nothing_of_the_solutions(wheel: Path) -> None:
    texts = dict(archived(wheel.read_bytes()))
    names = list(texts)
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.startswith("normalization_course-")} == {"autograder"}
    for word in ("solution", "mistake", "variant", "reference", "notebook.py"):
        assert not [name for name in names if word in name.lower()]
    assert len(solution_sources()) > 3
    assert leaked(solution_sources(), texts) == []


def test_the_website_has_no_code_of_the_solutions() -> None:
    pages = [p for p in (ROOT / "book").rglob("*") if p.suffix in (".md", ".py", ".js") and "vendor" not in p.parts]
    assert len(pages) > 3
    assert leaked(solution_sources(), {str(p.relative_to(ROOT)): p.read_text() for p in pages}) == []


def test_a_leak_into_the_wheel_would_be_found() -> None:
    name, text = max(solution_sources().items(), key=lambda item: len(item[1]))
    indented = "\n".join(f"        {line}" for line in text.splitlines())
    assert leaked({name: text}, {"autograder/innocent.py": f"TABLE = '''\n{indented}\n'''"})
    assert not leaked({name: text}, {"autograder/innocent.py": "x = 1\n" * 50})


def test_a_leak_inside_a_practice_file_would_be_found(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.zip", tmp_path / "outer.whl"
    name, text = max(solution_sources().items(), key=lambda item: len(item[1]))
    for path, entry, content in ((inner, "reference.txt", text.encode()), (outer, "autograder/lab.zip", b"")):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(entry, content or inner.read_bytes())
    assert leaked({name: text}, dict(archived(outer.read_bytes())))


def test_the_wheel_installs_the_kernelspec_where_jupyter_looks(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (spec,) = [n for n in archive.namelist() if ".data/" in n and n.endswith("/kernel.json")]
        assert spec.endswith(".data/data/share/jupyter/kernels/normalization-box/kernel.json")
        assert archive.read(spec) == (ROOT / "autograder/kernel/kernelspec/kernel.json").read_bytes()


def pins() -> dict[str, str]:
    """Name and version of every line of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs), "a line of constraints.txt is not NAME==VERSION"
    return {canonicalize_name(name): version for name, version in pairs}


def declared() -> list[str]:
    """Every requirement of pyproject.toml."""
    project = PYPROJECT["project"]
    extras = [text for group in project["optional-dependencies"].values() for text in group]
    return sorted({*project["dependencies"], *extras, *PYPROJECT["build-system"]["requires"]})


@pytest.mark.parametrize("text", declared())
def test_every_requirement_is_pinned_to_a_version_it_allows(text: str) -> None:
    requirement = Requirement(text)
    version = pins()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version, prereleases=True)


def test_the_pins_are_whole_and_fit_any_build() -> None:
    for name, version in pins().items():
        assert Version(version).local is None, f"{name}: a local label shuts out the other builds"
    assert pins()["torch"] == "2.13.0"
    assert pins()["jupyter-book"] == "1.0.4.post1"


def test_what_is_installed_is_what_is_pinned() -> None:
    check = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "lock.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stderr


@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0"])
def test_every_pinned_package_can_be_installed_with_each_python_that_is_promised(python: str) -> None:
    """Down to the first release of each: Debian 12 has Python 3.11.2, and one package that wants 3.11.5 ends the set-up."""
    assert SpecifierSet(PYPROJECT["project"]["requires-python"]).contains(python)
    installed = [d for d in metadata.distributions() if str(wants(d))]
    assert len(installed) > 50
    assert [d.metadata["Name"] for d in installed if not wants(d).contains(python)] == []


def wants(distribution: metadata.Distribution) -> SpecifierSet:
    """The versions of Python that a package asks for."""
    return SpecifierSet(distribution.metadata.get("Requires-Python") or "")


def test_a_version_that_is_not_the_pinned_one_is_found(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "lock.py", tmp_path / "scripts")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    text = (ROOT / "constraints.txt").read_text()
    (tmp_path / "constraints.txt").write_text(re.sub(r"^numpy==.*$", "numpy==1.26.0", text, flags=re.MULTILINE))
    check = subprocess.run(
        [sys.executable, str(tmp_path / "scripts" / "lock.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 1
    assert "numpy" in check.stderr
    assert "1.26.0" in check.stderr


# Folders where machines keep people's files and checkouts.
MACHINE_PATHS = re.compile(r"(?<![\w.~$}*-])/(?:work|workspace|workspaces|builds|home|Users|root)(?:/[\w.-]+|\b(?!/))")
# Talk of the sandbox: what the box hides, or what is inside it.
ABOUT_THE_BOX = ("autograder/sandbox/", "autograder/kernel/", "tests/sandbox/", "tests/kernel/", "tests/escapes/")


def tracked_files() -> list[str]:
    """Files that git has or would take; all files of the tree where this is no checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode == 0:
        return [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]
    skipped = {".venv", "_build", ".git"}
    relative = (p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file())
    return [str(p) for p in relative if not skipped & set(p.parts)]


def machine_paths(text: str) -> list[str]:
    """The absolute paths of somebody's machine in a text: fixed ones, and this checkout's own."""
    own = [
        re.escape(str(path)) for path in (ROOT, Path(sys.base_prefix)) if len(path.parts) > 2 and path != Path("/usr")
    ]
    return MACHINE_PATHS.findall(text) + [p for pattern in own for p in re.findall(pattern, text)]


def test_no_tracked_file_names_a_place_on_somebodys_machine() -> None:
    findings = []
    for name in tracked_files():
        if name.startswith((*ABOUT_THE_BOX, "book/_static/vendor/")) or name == "tests/house/test_package.py":
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        findings += [f"{name}: {path}" for path in machine_paths(text)]
    assert findings == []


@pytest.mark.parametrize("text", ["see /work/x.md", "'/root/.cache'", "open('/home/ada/a.txt')", f"cd {ROOT}"])
def test_a_machine_path_is_found(text: str) -> None:
    assert machine_paths(text)


@pytest.mark.parametrize("text", ["https://host.org/work/x", "./work/x", "a/root/b", "$HOME/root", "/usr/bin/python3"])
def test_other_paths_are_left_alone(text: str) -> None:
    assert machine_paths(text) == []
