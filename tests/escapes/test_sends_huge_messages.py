"""One message of hundreds of megabytes is read past, not stored."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox


def test_a_huge_output(hostile_notebook):
    """80 MB in one display; the fixture also bounds the grader's own memory."""
    source = "from IPython.display import display\ndisplay({'text/plain': 'x' * 80_000_000}, raw=True)"
    huge, after = hostile_notebook(source, "print(1)")
    assert (huge.status, huge.outputs) == ("flooded", [])
    assert (after.status, after.text) == ("ok", "1\n")


def test_a_huge_error(hostile_notebook):
    """The error arrives twice, in the output and in the reply; both are bounded."""
    huge, _ = hostile_notebook("raise ValueError('x' * 50_000_000)", "1", limits=Limits(wall_notebook_s=60))
    assert huge.status == "flooded"


def test_a_long_error_is_cut(hostile_notebook):
    """The name, the value and the traceback are cut to a few kilobytes each, without escape codes."""
    (run,) = hostile_notebook("raise type('N' * 9999, (Exception,), {})('\\x1b[31m' + 'x' * 200_000)")
    assert run.status == "error"
    assert len(run.error["name"]) < 500
    assert len(run.error["value"]) < 5000
    assert len(run.error["traceback"]) < 25_000
    assert "\x1b" not in "".join(run.error.values())
