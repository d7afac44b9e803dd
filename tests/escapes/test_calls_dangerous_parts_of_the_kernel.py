"""System calls with a long history of bugs and no use in a notebook are refused."""

import platform

import pytest

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the calls are those of x86-64"),
]

SOURCE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
zero = ctypes.create_string_buffer(4096)
calls = {
    "keyctl": (250, 0, -3, 0), "add_key": (248, b"user", b"a", b"b", 1, -3), "request_key": (249, b"user", b"a", 0, -3),
    "bpf": (321, 0, zero, 72), "perf_event_open": (298, zero, 0, -1, -1, 0), "userfaultfd": (323, 1),
    "io_uring_setup": (425, 4, zero), "open_by_handle_at": (304, -100, zero, 0), "kexec_load": (246, 0, 0, 0, 0),
    "init_module": (175, zero, 0, b""), "reboot": (169, 0, 0, 0), "swapon": (167, b"/tmp/x", 0), "acct": (163, 0),
    "syslog": (103, 10, zero, 0), "settimeofday": (164, zero, 0), "personality": (135, 0x40000),
    "name_to_handle_at": (303, -100, b"/", zero, zero, 0), "fanotify_init": (300, 0, 0), "quotactl": (179, 0, 0, 0, 0),
    "iopl": (172, 3), "modify_ldt": (154, 0, zero, 16), "pidfd_getfd": (438, 3, 0, 0),
}
allowed = []
for name, (number, *arguments) in calls.items():
    ctypes.set_errno(0)
    libc.syscall(number, *arguments)
    if ctypes.get_errno() != 1:
        allowed.append((name, ctypes.get_errno()))
print(allowed)
descriptor = os.open("/dev/ptmx", os.O_RDWR)
print(libc.ioctl(descriptor, 0x5412, b"x"), libc.ioctl(descriptor, ctypes.c_ulong(0x5412 | 1 << 32), b"x"))
ctypes.set_errno(0)
print(libc.syscall(435, zero, 88), ctypes.get_errno())
"""


def test_each_call_is_refused(attack):
    """EPERM for each; clone3 is ENOSYS (38), so that the C library falls back to clone."""
    assert attack(SOURCE).lines == ["[]", "-1 -1", "-1 38"]
