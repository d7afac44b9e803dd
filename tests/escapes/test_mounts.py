"""A box cannot mount, unmount or change its root."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("/tmp/a")
tried = {
    "tmpfs": libc.mount(b"none", b"/tmp/a", b"tmpfs", 0, None),
    "bind": libc.mount(b"/", b"/tmp/a", None, 4096, None),
    "remount": libc.mount(None, b"/usr/bin", None, 32 | 4096, None),
    "umount": libc.umount2(b"/dev/shm", 2),
    "chroot": libc.chroot(b"/tmp/a"),
    "pivot_root": libc.syscall(155, b"/tmp/a", b"/tmp/a"),
    "open_tree": libc.syscall(428, -100, b"/", 1),
    "fsopen": libc.syscall(430, b"tmpfs", 0),
}
print([name for name, result in tried.items() if result >= 0])
"""


def test_no_mount_call_works(attack):
    """Old calls and new ones."""
    assert attack(SOURCE).lines == ["[]"]
