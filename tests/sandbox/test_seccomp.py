"""The filter of system calls is a program that bubblewrap can load; without its library the sandbox refuses."""

import sys

import pytest

from autograder.errors import SandboxUnavailable
from autograder.sandbox import seccomp


def test_the_program_is_whole_instructions():
    """Eight bytes each, at most as many as the kernel takes."""
    data = seccomp.program()
    assert len(data) % 8 == 0
    assert 50 < len(data) // 8 <= 4096


def test_without_its_library_there_is_no_sandbox(monkeypatch):
    """No box is started without the filter."""
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with pytest.raises(SandboxUnavailable, match="pip install"):
        seccomp.program.__wrapped__()
