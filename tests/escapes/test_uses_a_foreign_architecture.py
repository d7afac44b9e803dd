"""System calls in the numbering of another architecture do not slip past the filter."""

import platform

import pytest

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="x32 is a second numbering of x86-64"),
]


def test_x32_calls_end_the_process(attack):
    """keyctl by its x32 number: the process is killed (SIGSYS, 31) or the kernel knows no such call."""
    source = "import ctypes\nlibc = ctypes.CDLL(None)\nprint(libc.syscall(0x40000000 + 250, 0, -3, 0))"
    outcome = attack(source)
    assert (outcome.cause, outcome.code) == ("signal", 31) or outcome.lines == ["-1"]
