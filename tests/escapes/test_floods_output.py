"""Output without end is cut at the limit, and the cell stopped; the grader's memory does not grow with it."""

import json

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox
LIMITS = Limits(output_mb=1, wall_cell_s=20, wall_notebook_s=60)


@pytest.mark.parametrize(
    "source",
    [
        "while True: print('x' * 1000)",
        "from IPython.display import display, HTML\nwhile True: display(HTML('x' * 1000))",
        "import sys\nwhile True: sys.stderr.write('hm')",
        "from IPython.display import clear_output\nwhile True:\n    print('x' * 1000)\n    clear_output()",
        "import os\nwhile True: os.write(1, b'x' * 1000)",
    ],
    ids=["print", "display", "stderr", "clear", "descriptor"],
)
def test_a_flood_is_stopped(hostile_notebook, source):
    """The kernel lives: the next cell runs."""
    flood, after = hostile_notebook(source, "print(1)", limits=LIMITS)
    assert flood.status == "flooded"
    assert "more than 1 MB" in flood.reason
    assert sum(len(json.dumps(output, ensure_ascii=False)) for output in flood.outputs) < 1.2 * 2**20
    assert (after.status, after.text) == ("ok", "1\n")


def test_many_tiny_outputs_are_a_flood(hostile_notebook):
    """A thousand outputs are more than a page can show."""
    source = "from IPython.display import display\nfor _ in range(5000): display(1)"
    flood, _ = hostile_notebook(source, "1", limits=LIMITS)
    assert flood.status == "flooded"
    assert len(flood.outputs) <= 1000


def test_a_thread_that_goes_on_printing_is_stopped_at_the_next_cell(hostile_notebook):
    """What it prints between the cells costs the grader nothing."""
    source = """
import threading
def forever():
    while True: print("x" * 10000)
threading.Thread(target=forever, daemon=True).start()
"""
    first, second = hostile_notebook(source, "import time; time.sleep(5)", limits=LIMITS)
    assert "flooded" in (first.status, second.status)
