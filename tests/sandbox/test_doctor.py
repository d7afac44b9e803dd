"""The doctor tries instead of guessing, finds what is broken, and names the remedy."""

import json
import tempfile

import pyseccomp
import pytest

from autograder.sandbox import bwrap, doctor, remedies, seccomp, start
from autograder.sandbox.doctor import Finding, findings, main

pytestmark = pytest.mark.sandbox


def test_this_machine_is_well(capsys):
    """All findings ok, exit code 0, the same as JSON."""
    assert main(["--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    names = [finding["name"] for finding in report["findings"]]
    assert {"bubblewrap", "ways out of the box", "limit on memory", "packages in the box"} <= set(names)


def test_a_missing_bubblewrap_is_found(monkeypatch, capsys):
    """Exit code 3, and what to install."""
    monkeypatch.setattr(bwrap.shutil, "which", lambda name, path: None)
    assert main([]) == 3
    out = capsys.readouterr().out
    assert "apt install bubblewrap" in out
    assert "--no-sandbox" in out


def test_a_box_that_does_not_hold_is_found(monkeypatch):
    """With the whole machine bound into it, student code sees what it must not: the trial is a real one."""
    whole = bwrap.options

    def leaky(*arguments, **options):
        words = whole(*arguments, **options)
        return [*words[:-4], "--ro-bind", "/etc", "/etc", *words[-4:]]

    monkeypatch.setattr(bwrap, "options", leaky)
    finding = doctor._escape()
    assert not finding.ok
    assert "saw /etc/passwd" in finding.detail


def test_a_box_with_the_machines_network_is_found(monkeypatch):
    """The doctor's own listener is reached."""
    whole = bwrap.options
    monkeypatch.setattr(bwrap, "options", lambda *a, **k: [word for word in whole(*a, **k) if word != "--unshare-net"])
    assert "connected to ('127.0.0.1'" in doctor._escape().detail


def test_a_filter_that_allows_everything_is_found(monkeypatch):
    """AF_VSOCK opens, and namespaces can be made."""

    def empty():
        with tempfile.TemporaryFile() as file:
            pyseccomp.SyscallFilter(pyseccomp.ALLOW).export_bpf(file)
            file.seek(0)
            return file.read()

    monkeypatch.setattr(seccomp, "program", empty)
    detail = doctor._escape().detail
    assert "AF_VSOCK" in detail
    assert "without a filter of system calls" in detail


def test_packages_that_cannot_be_read_are_found(monkeypatch):
    """The last line of the error, and the permission to give."""
    monkeypatch.setattr(doctor, "_run", lambda *a, **k: doctor.End("exit", 1, "PermissionError: torch"))
    finding = doctor._packages()
    assert (finding.ok, finding.detail) == (False, "PermissionError: torch")
    assert "chmod" in finding.remedy


def test_another_system_is_told_where_to_go(monkeypatch, capsys):
    """Nothing else is tried there."""
    monkeypatch.setattr(doctor.sys, "platform", "darwin")
    assert len(findings()) == 1
    assert main([]) == 3
    assert "virtual machine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", 1, "bwrap-userns-restrict"),
        ("kernel/unprivileged_userns_clone", 0, "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", 0, "user.max_user_namespaces"),
    ],
)
def test_the_remedy_fits_the_setting(monkeypatch, setting, value, words):
    """For an ordinary user; root needs no user namespace."""
    monkeypatch.setattr(remedies, "_number", lambda name: value if name == setting else None)
    monkeypatch.setattr(remedies.os, "geteuid", lambda: 1000)
    assert words in remedies.remedy_for("bwrap: setting up uid map: Permission denied")


def test_where_no_setting_forbids_namespaces_what_is_around_is_named(monkeypatch):
    """The kernel makes none in a chroot, whatever its settings say."""
    monkeypatch.setattr(remedies, "_number", lambda name: None)
    monkeypatch.setattr(remedies.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(remedies.os.path, "exists", lambda path: False)
    assert "chroot" in remedies.remedy_for("bwrap: No permissions to create new namespace, likely because")
    assert "chroot" not in remedies.remedy_for("bwrap: something else")


def test_the_doctor_does_not_send_to_the_doctor(monkeypatch):
    def refused():
        raise start.refusal("bwrap: No permissions to create new namespace. See README.Debian.gz>.")

    found = doctor._tried("a process in a box", refused)
    assert found.detail.endswith("README.Debian.gz>.")
    assert "doctor" not in found.detail


def test_every_bad_finding_shows_its_remedy(monkeypatch, capsys):
    """Line by line below it."""
    monkeypatch.setattr(doctor, "findings", lambda: (Finding("a", True, "x"), Finding("b", False, "y", "do\nthis")))
    assert main([]) == 3
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[:4] == [["ok", "a", "x"], ["NO", "b", "y"], ["do"], ["this"]]
