"""What to do when a machine cannot box student code: texts, chosen by what was said and what kind of machine it is."""

from __future__ import annotations

import os

from autograder.sandbox.bwrap import INSTALL

ASK_DOCTOR = " Run `autograder doctor` for the remedy."  # what the doctor itself need not say

NO_LINUX = (
    "bubblewrap needs Linux. On Windows use WSL2 (`wsl --install -d Debian`), on macOS a Linux virtual machine\n"
    "(UTM, Lima or Multipass). Without either, only --no-sandbox is left."
)

AN_ESCAPE = (
    "The box does not hold on this machine: do not grade with it. Please report it with the output of\n"
    "`autograder doctor --json`, `bwrap --version` and `uname -a`."
)

IN_A_CONTAINER = (
    "This is a container. Grade on the host, or start the container with\n"
    "`--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined\n"
    "--security-opt systempaths=unconfined`, and trust the container's own limits no more than that."
)

APPARMOR = (
    "Ubuntu forbids user namespaces to programs without a profile. Load the one made for bubblewrap:\n"
    "sudo apt install apparmor-profiles\n"
    "sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/\n"
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict\n"
    "or grade as root (`sudo .venv/bin/autograder grade ...`), which needs no user namespace."
)

SYSCTL = (
    "This machine forbids user namespaces to ordinary users. Allow them (`sudo sysctl -w {name}`) or grade as\n"
    "root (`sudo .venv/bin/autograder grade ...`), which needs none."
)

SOMETHING_AROUND = (
    "No setting of this machine forbids user namespaces to ordinary users, so something around this program does:\n"
    "a chroot (the kernel makes none in it; a container or systemd-nspawn is the way), a filter of system calls, or a\n"
    "service with RestrictNamespaces=. Grade outside of it, or as root, which needs none."
)


def readable(path: str) -> str:
    """The remedy for files that the box's user cannot read."""
    return (
        f"The box runs as a user of its own, who must be able to read {path}:\n"
        f"chmod -R o+rX {path}   (and the same for the Python it was made from)"
    )


def remedy_for(message: str) -> str:
    """The remedy for an error that bubblewrap or we gave."""
    if "missing" in message or "Install" in message:
        return INSTALL if "bwrap" in message else "pip install 'normalization-course[grading]'"
    if os.geteuid() != 0:
        if _number("kernel/apparmor_restrict_unprivileged_userns") == 1:
            return APPARMOR
        if _number("kernel/unprivileged_userns_clone") == 0:
            return SYSCTL.format(name="kernel.unprivileged_userns_clone=1")
        if _number("user/max_user_namespaces") == 0:
            return SYSCTL.format(name="user.max_user_namespaces=10000")
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return IN_A_CONTAINER
    if os.geteuid() != 0 and "No permissions to create new namespace" in message:
        return SOMETHING_AROUND
    return "Look at the message above; bubblewrap's own words are in it. " + INSTALL


def _number(name: str) -> int | None:
    try:
        with open(f"/proc/sys/{name}") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
