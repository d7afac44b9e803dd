"""Memory in large pages holds what it held, and a fork's copy is its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import hashlib, os
from autograder.template.pages import LARGE_PAGE, gather
held = [bytes([number]) * (3 * LARGE_PAGE + number) for number in range(5)]
small = {number: str(number) * 50 for number in range(20_000)}
def digest():
    whole = hashlib.sha256()
    for block in held:
        whole.update(block)
    whole.update(repr(small).encode())
    return whole.hexdigest()
before = digest()
gather()
assert digest() == before
reader, writer = os.pipe()
if os.fork() == 0:
    changed = bytearray(held[0])
    small.clear()
    gather()
    os.write(writer, b"%d" % (len(held[0]) + len(small)))
    os._exit(0)
os.wait()
assert digest() == before
print(os.read(reader, 100).decode(), before == digest())
"""


def test_gathering_changes_nothing() -> None:
    """Neither here nor in a fork, which may gather its own."""
    run = [sys.executable, "-c", SOURCE]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.split() == [str(3 * 2**21), "True"]


def test_only_memory_of_its_own_is_gathered() -> None:
    """No file's, no other's, not the stack."""
    from autograder.template import pages

    ranges = dict(pages._writable())
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    begins = {int(words[0].split("-")[0], 16): words for words in lines}
    found = [begins[begin] for begin in ranges if begin in begins]
    assert len(found) > 5
    assert all(words[1] == "rw-p" and words[4] == "0" for words in found)
    assert not any(words[-1] == "[stack]" for words in found)
    assert os.path.exists("/proc/self/maps")
