"""A fork bomb ends at the limit on processes; another box starts and works meanwhile."""

import sys
import time

import pytest

from autograder.sandbox.folder import RunFolder
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, time
children = 0
try:
    while True:
        if os.fork() == 0:
            while True:
                try:
                    os.fork()
                except OSError:
                    time.sleep(5)
        children += 1
except OSError as error:
    print(children, error.errno)
    time.sleep(1)
"""


def test_the_bomb_is_bounded(attack):
    """EAGAIN (11) after at most 50 processes."""
    outcome = attack(SOURCE, limits=Limits(processes=50, wall_notebook_s=30))
    children, errno = outcome.lines[0].split()
    assert int(children) <= 50
    assert errno == "11"


def test_another_box_still_answers():
    """Limits on processes are counted for each box, not for all of them together."""
    limits = Limits(processes=20, wall_notebook_s=30)
    bomb = start_box([sys.executable, "-c", SOURCE], RunFolder(), limits).result()
    try:
        time.sleep(0.3)
        other = start_box(["/bin/sh", "-c", "/bin/sleep 0.1 & wait; echo here"], RunFolder(), limits).result()
        assert other.ended.result(10).tail == "here\n"
    finally:
        bomb.stop()
        bomb.ended.result(10)
