"""scripts/system-packages.sh, run against a made-up machine: every command it can reach is a fake.

A fake writes its command line into a log, so a test sees what would have been installed.
"""

from __future__ import annotations

import shutil
import stat
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASH = shutil.which("bash") or "/bin/bash"
DEBIAN = 'ID=debian\nVERSION_ID="12"\n'
UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n'
MINT = 'ID=linuxmint\nID_LIKE="ubuntu debian"\n'
FEDORA = "ID=fedora\n"


@dataclass
class Machine:
    """A folder of fake commands, and a copy of the scripts that only sees that folder."""

    folder: Path
    os_release: str = DEBIAN

    def __post_init__(self) -> None:
        self.commands = self.folder / "bin"
        self.commands.mkdir()
        shutil.copytree(ROOT / "scripts", self.folder / "tree" / "scripts")
        self.log = self.folder / "log"
        self.log.touch()
        self.fake("uname", "echo Linux")
        self.fake("id", "echo 0")
        self.fake("dpkg-query", "printf 'ii '")
        self.fake("bwrap")
        self.fake("chromium")
        self.fake("pg_createcluster")
        self.fake("python3", 'if [[ "$2" == *print* ]]; then echo 3.11; fi')
        self.fake("env", 'if [[ "$1" == *=* ]]; then shift; fi\n"$@"')

    def fake(self, name: str, body: str = "exit 0") -> None:
        """Puts a command on the machine's only path."""
        path = self.commands / name
        path.write_text(f'#!{BASH}\necho "{name} $*" >> "{self.log}"\n{body}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def lose(self, name: str) -> None:
        """Takes a command away."""
        (self.commands / name).unlink()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the script on this machine."""
        release = self.folder / "os-release"
        release.write_text(self.os_release)
        return subprocess.run(
            [BASH, str(self.folder / "tree" / "scripts" / "system-packages.sh"), *arguments],
            env={"PATH": str(self.commands), "OS_RELEASE": str(release)},
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )

    def ran(self, command: str) -> list[str]:
        """The command lines that began with `command`."""
        return [line for line in self.log.read_text().splitlines() if line.startswith(command)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_missing_says_and_does_nothing(machine: Machine) -> None:
    result = machine.run()
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert machine.ran("apt-get") == machine.ran("sudo") == machine.ran("id") == []


def test_nothing_missing_takes_no_time(machine: Machine) -> None:
    def run_s() -> float:
        start = time.perf_counter()
        machine.run()
        return time.perf_counter() - start

    assert min(run_s() for _ in range(5)) < 0.1


def test_root_installs_what_is_missing_and_says_why(machine: Machine) -> None:
    machine.lose("bwrap")
    machine.lose("chromium")
    machine.fake("apt-get")
    result = machine.run()
    assert result.returncode == 0
    assert "bubblewrap: the box that students' code runs in" in result.stdout
    update, install = machine.ran("apt-get")
    assert update.endswith("update")
    assert "install --yes" in install
    assert install.endswith("bubblewrap chromium fonts-dejavu-core")


def test_only_the_missing_package_is_installed(machine: Machine) -> None:
    machine.fake("dpkg-query", "exit 1")
    machine.fake("apt-get")
    assert machine.run().returncode == 0
    assert machine.ran("apt-get")[-1].endswith(" libseccomp2")


def test_a_package_that_was_removed_but_not_purged_counts_as_missing(machine: Machine) -> None:
    machine.fake("dpkg-query", "printf 'rc '")
    machine.fake("apt-get")
    machine.run()
    assert machine.ran("apt-get")[-1].endswith(" libseccomp2")


def test_sudo_is_used_when_it_asks_for_no_password(machine: Machine) -> None:
    machine.lose("bwrap")
    machine.fake("id", "echo 1000")
    machine.fake("sudo", 'if [[ "$1" == -n ]]; then shift; fi\n"$@"')
    machine.fake("true")
    machine.fake("apt-get")
    assert machine.run().returncode == 0
    assert machine.ran("apt-get")[-1].endswith(" bubblewrap")


def test_a_database_server_is_installed_for_the_test_that_needs_one(machine: Machine) -> None:
    machine.lose("pg_createcluster")
    machine.fake("apt-get")
    result = machine.run()
    assert machine.ran("apt-get")[-1].endswith(" postgresql")
    assert "postgresql: a database server" in result.stdout
    machine.fake("initdb")  # where it is not Debian's
    assert machine.run().stdout == ""


def test_without_a_database_server_one_test_is_skipped_and_that_is_said(machine: Machine) -> None:
    machine.lose("pg_createcluster")
    machine.fake("id", "echo 1000")
    result = machine.run("--soft")
    assert result.returncode == 0
    assert "the test of a gradebook in PostgreSQL is skipped" in result.stdout


@pytest.mark.parametrize("sudo", [None, "exit 1"], ids=["no sudo", "sudo asks for a password"])
def test_without_root_the_line_to_run_is_printed(machine: Machine, sudo: str | None) -> None:
    machine.lose("bwrap")
    machine.fake("id", "echo 1000")
    machine.fake("apt-get")
    if sudo is not None:
        machine.fake("sudo", sudo)
    for arguments, status in (((), 1), (("--soft",), 0)):
        result = machine.run(*arguments)
        assert result.returncode == status
        line = "sudo apt-get update && sudo apt-get install --yes --no-install-recommends bubblewrap"
        assert line in result.stdout
        assert "grading refuses unless --no-sandbox" in result.stdout
    assert machine.ran("apt-get") == []


def test_an_apt_that_fails_is_no_end_in_soft_mode(machine: Machine) -> None:
    machine.lose("bwrap")
    machine.fake("apt-get", "echo 'E: no network' >&2\nexit 100")
    soft, strict = machine.run("--soft"), machine.run()
    assert (soft.returncode, strict.returncode) == (0, 1)
    assert "could not install: bubblewrap" in soft.stdout
    assert "E: no network" in soft.stderr


@pytest.mark.parametrize("os_release", [UBUNTU, MINT], ids=["ubuntu", "mint"])
def test_ubuntu_is_told_about_the_snap_and_not_given_the_stub(machine: Machine, os_release: str) -> None:
    machine.os_release = os_release
    machine.lose("chromium")
    machine.fake("chromium-browser", "echo 'requires the chromium snap to be installed'")
    machine.fake("apt-get")
    result = machine.run("--soft")
    assert result.returncode == 0
    assert "sudo snap install chromium" in result.stdout
    assert "tests of the built website are skipped" in result.stdout
    assert machine.ran("apt-get") == []
    machine.fake("google-chrome")
    assert machine.run().stdout == ""


def test_ubuntu_still_gets_the_rest(machine: Machine) -> None:
    machine.os_release = UBUNTU
    machine.lose("chromium")
    machine.lose("bwrap")
    machine.fake("apt-get")
    result = machine.run("--soft")
    assert machine.ran("apt-get")[-1].endswith(" bubblewrap")
    assert "snap install chromium" in result.stdout


def test_a_python_without_ensurepip_gets_its_venv_package(machine: Machine) -> None:
    body = 'case "$2" in *ensurepip*) exit 1 ;; *print*) echo 3.12 ;; esac'
    machine.fake("python3", body)
    machine.fake("apt-get")
    assert machine.run().returncode == 0
    assert machine.ran("apt-get")[-1].endswith(" python3.12-venv")


def test_another_distribution_is_told_what_to_install(machine: Machine) -> None:
    machine.os_release = FEDORA
    machine.lose("bwrap")
    machine.fake("apt-get")
    result = machine.run("--soft")
    assert result.returncode == 0
    assert "not Debian or Ubuntu" in result.stdout
    assert "bubblewrap" in result.stdout
    assert machine.ran("apt-get") == machine.ran("dpkg-query") == []
    assert machine.run().returncode == 1


def test_another_system_is_told_what_works_there(machine: Machine) -> None:
    machine.fake("uname", "echo Darwin")
    machine.lose("bwrap")
    result = machine.run()
    assert result.returncode == 0
    assert "this is Darwin, not Linux" in result.stdout
    assert "--no-sandbox" in result.stdout


def test_an_unknown_argument_is_a_usage_error(machine: Machine) -> None:
    result = machine.run("--sfot")
    assert result.returncode == 2
    assert "--sfot" in result.stderr
