"""A box cannot make or enter namespaces, the first step of most exploits of the kernel."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
flags = [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x10020000]
made = [hex(flag) for flag in flags if libc.unshare(flag) == 0]
for flag in flags[1:]:
    child = libc.syscall(56, flag | 17, 0, 0, 0, 0)  # clone on x86-64
    if child == 0:
        os._exit(0)
    if child > 0:
        made.append("clone " + hex(flag))
        os.waitpid(child, 0)
for name in os.listdir("/proc/1/ns") if os.access("/proc/1/ns", os.R_OK) else []:
    try:
        if libc.setns(os.open("/proc/1/ns/" + name, os.O_RDONLY), 0) == 0:
            made.append("setns " + name)
    except OSError:
        pass
print(made)
if os.fork() == 0:
    os._exit(7)
print(os.wait()[1] >> 8)
"""


def test_no_namespace_is_made(attack):
    """fork, which is clone without those flags, goes on working."""
    assert attack(SOURCE).lines == ["[]", "7"]
