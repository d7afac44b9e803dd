"""What a box can write is bounded: its /tmp, its /dev/shm, and every single file."""

import pytest

from autograder.sandbox.policy import SHARED_MEMORY_MB, Limits

pytestmark = pytest.mark.sandbox

SOURCE = """
import os
block = b"x" * 2**20
for folder in ("/tmp", "/dev/shm"):
    written = files = 0
    full = False
    while not full and files < 100:
        files += 1
        with open(f"{folder}/{files}", "wb", buffering=0) as file:
            for _ in range(10):
                try:
                    written += file.write(block)
                except OSError as error:
                    full = error.errno == 28
                    break
    print(folder, written // 2**20, files)
    for name in range(1, files + 1):
        os.unlink(f"{folder}/{name}")
with open("/tmp/large", "wb", buffering=0) as file:
    try:
        while True:
            file.write(block)
    except OSError as error:
        print(error.errno, file.tell() // 2**20)
"""


def test_scratch_space_and_files_have_a_size(attack):
    """/tmp holds 40 MB, /dev/shm its fixed size, one file 5 MB (then EFBIG)."""
    outcome = attack(SOURCE, limits=Limits(scratch_mb=40, file_mb=5, wall_notebook_s=30))
    tmp, shm, large = (line.split() for line in outcome.lines)
    assert 36 <= int(tmp[1]) <= 40
    assert SHARED_MEMORY_MB - 4 <= int(shm[1]) <= SHARED_MEMORY_MB
    assert large == ["27", "5"]
