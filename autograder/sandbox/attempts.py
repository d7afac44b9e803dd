"""A program that the doctor runs in a box: it tries to get out, and prints as JSON what it managed to do.

Stand-alone on purpose (the standard library only): its text is handed to a Python in the box, which cannot see this
package. An empty list is the good outcome. What it does not try: bugs of the kernel.
"""

import contextlib
import ctypes
import json
import os
import socket
import sys


def attempts(port: int, name: str, hidden: list[str]) -> list[str]:
    """Try everything; `port` and `name` are listeners of the doctor, `hidden` are paths that exist on its side."""
    done = [f"saw {path}" for path in hidden if os.path.lexists(path)]
    for address in (("127.0.0.1", port), "\0" + name):
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(1)
            connection.connect(address)
            done.append(f"connected to {address!r}")
    with contextlib.suppress(OSError), socket.socket(40, socket.SOCK_STREAM):
        done.append("opened a socket to the hypervisor (AF_VSOCK)")
    for folder in ("/", "/usr/lib", "/etc", "/dev", sys.prefix):
        with contextlib.suppress(OSError), open(os.path.join(folder, "written-by-a-student"), "w"):
            done.append(f"wrote into {folder}")
    others = [entry for entry in os.listdir("/proc") if entry.isdigit() and int(entry) not in (1, os.getpid())]
    if others:
        done.append(f"saw {len(others)} other processes")
    libc = ctypes.CDLL(None, use_errno=True)
    for flag, kind in ((0x10000000, "user"), (0x00020000, "mount"), (0x40000000, "network")):
        if libc.unshare(flag) == 0:
            done.append(f"made a {kind} namespace")
    if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
        done.append("mounted a file system")
    if libc.ptrace(0, 0, 0, 0) == 0:
        done.append("could be traced")
    # Process 1 is bubblewrap's own; an ordinary user's box can write its memory, so it must be bound as tightly.
    for process in ("1", "self"):
        with open(f"/proc/{process}/status") as file:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        if int(fields["CapPrm"], 16) or fields["NoNewPrivs"] != "1" or fields["Seccomp"] != "2":
            done.append(f"found process {process} without a filter of system calls or with capabilities")
    with open("/proc/1/limits") as file:
        if not any(line.startswith("Max processes") and "unlimited" not in line for line in file):
            done.append("found process 1 without limits")
    if any(variable in os.environ for variable in ("SSH_AUTH_SOCK", "SUDO_USER", "VIRTUAL_ENV", "PYTEST_VERSION")):
        done.append("read the grader's environment")
    return done


if __name__ == "__main__":
    print("\n" + json.dumps(attempts(int(sys.argv[1]), sys.argv[2], sys.argv[3:])))
