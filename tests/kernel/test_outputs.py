"""Whatever messages say, what is kept is a notebook's outputs of a bounded size."""

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.kernel.outputs import Outputs, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = ["stream", "display_data", "execute_result", "update_display_data", "error", "clear_output", "status", "x"]
KEYS = ["name", "text", "data", "metadata", "transient", "execution_count", "ename", "evalue", "traceback", "wait"]
VALUES = JSON | st.just({"text/plain": "x", "image/png": "eA=="}) | st.just({"display_id": "d"})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), VALUES)), max_size=8))
def test_any_messages_make_a_valid_notebook(messages):
    """nbformat accepts the result, and it can be written as UTF-8."""
    outputs = Outputs(1000)
    for kind, content in messages:
        outputs.add(kind, content)
    cell = nbformat.v4.new_code_cell("")
    cell.outputs = [nbformat.from_dict(output) for output in outputs.notebook_outputs()]
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
    nbformat.writes(nbformat.v4.new_notebook(cells=[cell])).encode()


def texts(outputs):
    return [output.get("text") or output["data"]["text/plain"] for output in outputs.notebook_outputs()]


def test_pieces_of_one_stream_are_joined():
    """Another output between them ends the joining."""
    outputs = Outputs(1000)
    for name, text in (("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")):
        outputs.add("stream", {"name": name, "text": text})
    assert texts(outputs) == ["ab", "c", "d"]


@pytest.mark.parametrize("wait", [False, True])
def test_cleared_outputs_are_gone(wait):
    """At once, or with the next output."""
    outputs = Outputs(1000)
    outputs.add("stream", {"name": "stdout", "text": "old"})
    outputs.add("clear_output", {"wait": wait})
    assert texts(outputs) == (["old"] if wait else [])
    outputs.add("stream", {"name": "stdout", "text": "new"})
    assert texts(outputs) == ["new"]


def test_a_display_is_updated_in_place():
    """A progress bar is one output, not a thousand."""
    outputs = Outputs(1000)
    outputs.add("display_data", {"data": {"text/plain": "0 %"}, "transient": {"display_id": "bar"}})
    outputs.add("update_display_data", {"data": {"text/plain": "50 %"}, "transient": {"display_id": "bar"}})
    outputs.add("update_display_data", {"data": {"text/plain": "x"}, "transient": {"display_id": "unknown"}})
    assert texts(outputs) == ["50 %"]


def test_the_bound_counts_bytes_and_ends_on_a_character():
    """Ten bytes hold three characters of three bytes."""
    outputs = Outputs(10)
    outputs.add("stream", {"name": "stdout", "text": "€" * 5})
    assert (texts(outputs), outputs.full) == (["€€€"], True)
    outputs.add("stream", {"name": "stdout", "text": "more"})
    assert texts(outputs) == ["€€€"]


def test_a_figure_over_the_bound_is_dropped_whole():
    """Half an image is none."""
    outputs = Outputs(100)
    outputs.add("display_data", {"data": {"image/png": "A" * 101}})
    assert (outputs.notebook_outputs(), outputs.full) == ((), True)


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1b[38;5;1;4mx", "x"),
        ("a\x1bb", "ab"),
        ("\x1b", ""),
    ],
)
def test_escape_codes_are_removed(dirty, clean):
    """Colours, links, and a lone escape."""
    assert plain(dirty, 1000) == clean


@given(st.text(max_size=300), st.integers(min_value=20, max_value=100))
def test_cut_text_stays_short(value, max_bytes):
    """To the bound and the mark in the middle."""
    assert len(plain(value, max_bytes).encode()) <= max_bytes + len("\n[...]\n")
    assert "\x1b" not in plain(value, max_bytes)
