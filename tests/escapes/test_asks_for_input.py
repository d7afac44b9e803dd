"""A cell that waits for input gets an error and does not hang."""

import pytest

pytestmark = pytest.mark.sandbox


def test_input_is_an_error(either_users_notebook):
    """From Python and from the terminal."""
    asked, read = either_users_notebook("input('name?')", "import sys; print(repr(sys.stdin.read()))")
    assert asked.error["name"] == "StdinNotImplementedError"
    assert read.status in ("ok", "error")
