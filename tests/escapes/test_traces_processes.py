"""A boxed program cannot trace a process or read its memory by system call."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    os.execv("/usr/bin/sleep", ["sleep", "30"])

class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

buffer = ctypes.create_string_buffer(8)
here = Piece(ctypes.addressof(buffer), 8)
results = [
    libc.ptrace(0, 0, 0, 0),
    libc.ptrace(16, child, 0, 0),
    libc.ptrace(0x4206, child, 0, 0),
    libc.process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(here), 1, 0),
    libc.process_vm_writev(os.getpid(), ctypes.byref(here), 1, ctypes.byref(here), 1, 0),
]
print(results)
os.kill(child, 9)
"""


READ = (
    SOURCE[: SOURCE.index("results =")].replace("os.fork()", "-1")
    + """
print(libc.process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(here), 1, 0))
"""
)


def test_tracing_is_refused(attack, outside):
    """Outside memory can be read this way (tracing works there too, but would stop this test)."""
    assert outside(READ) == ["8"]
    assert attack(SOURCE).lines == ["[-1, -1, -1, -1, -1]"]
