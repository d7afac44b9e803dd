"""A graded notebook holds nothing that a browser would run, and exactly the score that nbgrader must read."""

from __future__ import annotations

import base64
import json
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.utils import determine_grade

from autograder.grading import outputs
from autograder.grading.report import CheckResult, Diagnosis

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()
JPEG = base64.b64encode(b"\xff\xd8\xff and more").decode()
SCRIPT = "<script>alert(1)</script>"


def shown(data: Any, kind: str = "display_data", **more: Any) -> list[Any]:
    """What is left of one rich output."""
    return outputs.safe([{"output_type": kind, "data": data, "metadata": {"evil": SCRIPT}, **more}])


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ({"text/plain": "a"}, {"text/plain": "a"}),
        ({"text/plain": ["a", "b"]}, {"text/plain": "ab"}),
        ({"text/html": SCRIPT, "text/plain": "a"}, {"text/plain": "a"}),
        ({"image/png": PNG, "text/plain": "fig"}, {"image/png": PNG, "text/plain": "fig"}),
        ({"image/jpeg": JPEG}, {"image/jpeg": JPEG}),
    ],
)
def test_text_and_pictures_are_kept(data: Any, kept: dict[str, str]) -> None:
    """A student's figure and prints are evidence."""
    [output] = shown(data)
    assert output.data == kept
    assert output.metadata == {}


@pytest.mark.parametrize(
    "data",
    [
        {"text/html": SCRIPT},
        {"application/javascript": "alert(1)"},
        {"image/svg+xml": f"<svg>{SCRIPT}</svg>"},
        {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}},
        {"text/markdown": SCRIPT, "text/latex": "$x$", "application/json": {}},
        {"image/png": base64.b64encode(SCRIPT.encode()).decode()},
        {"image/png": f'" onerror="alert(1)" x="{PNG}'},
        {"image/png": PNG + "é"},
        {"image/png": [PNG]},
        {"image/png": base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * outputs.MAX_PICTURE).decode()},
        {"image/jpeg": PNG},
        {"image/gif": PNG},
        {},
        None,
        "text",
    ],
    ids=lambda data: str(data)[:30],
)
def test_everything_else_is_dropped(data: Any) -> None:
    """HTML, scripts, drawings, widgets, a picture that is none."""
    assert shown(data) == []


@pytest.mark.parametrize("kind", ["update_display_data", "error2", "", None, "execute_input"])
def test_an_unknown_output_is_dropped(kind: Any) -> None:
    """nbformat would refuse the notebook for it."""
    assert shown({"text/plain": "a"}, kind) == []


def test_an_execute_result_is_no_score() -> None:
    """nbgrader would read a number in one as points."""
    [output] = shown({"text/plain": "4.0"}, "execute_result", execution_count=1)
    assert output.output_type == "display_data"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07rest", "]0;titlerest"),
        ("a\x00b\rc\x7fd\x08", "abcd"),
        ("tab\tline\n", "tab\tline\n"),
        (None, ""),
        (3, "3"),
        (["a", "b"], "ab"),
        ("half \ud800", "half ?"),
    ],
)
def test_text_is_plain(given: Any, text: str) -> None:
    """A terminal and a file can take it."""
    assert outputs.plain(given) == text


def test_text_is_cut() -> None:
    """And says how much is gone."""
    assert outputs.plain("x" * (outputs.MAX_TEXT + 5)) == "x" * outputs.MAX_TEXT + "\n... (5 more characters)"
    assert len(outputs.safe([{"output_type": "stream", "name": "stdout", "text": "a"}] * 1000)) == outputs.MAX_OUTPUTS


def test_streams_and_errors_are_kept_as_text() -> None:
    """They are the student's own words."""
    stream, error = outputs.safe(
        [
            {"output_type": "stream", "name": "<b>", "text": SCRIPT},
            {"output_type": "error", "ename": "E", "evalue": "\x1b[1mv", "traceback": ["\x1b[31ma", 3, "b\nc"]},
        ]
    )
    assert (stream.name, stream.text) == ("stdout", SCRIPT)
    assert (error.ename, error.evalue, error.traceback) == ("E", "v", ["a", "3", "b", "c"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["stream", "error", "display_data", "execute_result"])
FIELDS = st.sampled_from(["name", "text", "ename", "evalue", "traceback", "data", "execution_count"])


@given(st.lists(st.tuples(KINDS, st.dictionaries(FIELDS, JSON)), max_size=4))
@settings(deadline=None)  # the first example loads nbformat's schema
def test_whatever_comes_the_notebook_stays_valid(given_outputs: list[tuple[str, dict[str, Any]]]) -> None:
    """And can be written as UTF-8: nbgrader reads it next."""
    clean = outputs.safe([{**fields, "output_type": kind} for kind, fields in given_outputs])
    cell = new_code_cell("x", outputs=clean)
    nbformat.validate(new_notebook(cells=[cell]))
    json.dumps(cell, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "given_output",
    [
        {"output_type": "stream", "name": "stderr", "text": "a"},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["a", "b"]},
        {"output_type": "display_data", "data": {"text/plain": "a"}},
    ],
    ids=lambda output: output["output_type"],
)
def test_an_output_is_what_nbformat_would_make(given_output: dict[str, Any]) -> None:
    """Without the seconds that a class would wait for its schema: the same fields, in the same order, of the same types."""
    made, theirs = outputs.safe([given_output])[0], new_output(**given_output)  # type: ignore[no-untyped-call]
    assert json.dumps(made) == json.dumps(theirs)
    assert [type(value) for value in made.values()] == [type(value) for value in theirs.values()]


# --- scores ----------------------------------------------------------------------------------------------------------------


def result(points: float, of: float = 4.0, **more: Any) -> CheckResult:
    """A verdict."""
    return CheckResult("c", "E", "title", points, of, points >= of, more.pop("message", "because"), **more)


def score(verdict: CheckResult) -> float:
    """What nbgrader reads from the outputs that are written for a verdict."""
    tags = {"grade": True, "solution": False, "points": verdict.max_points, "grade_id": "c", "schema_version": 3}
    cell = new_code_cell("check", outputs=outputs.scoring(verdict), metadata={"nbgrader": tags})
    return float(determine_grade(cell)[0])


@given(st.floats(0, 10), st.sampled_from([1.0, 4.0, 10.0]))
def test_nbgrader_reads_the_points_that_were_given(points: float, of: float) -> None:
    """No more, no less, whatever they are."""
    points = min(points, of)
    assert score(result(points, of)) == points


@pytest.mark.parametrize(
    ("points", "read"),
    [(float("nan"), 0.0), (float("-inf"), 0.0), (-1.0, 0.0), (float("inf"), 4.0), (9.0, 4.0), (0.0, 0.0)],
)
def test_an_impossible_score_is_none(points: float, read: float) -> None:
    """nbgrader takes NaN for full marks; ours never reaches it."""
    assert score(result(points)) == read


@pytest.mark.parametrize("points", [0.0, 1.5, 4.0])
def test_there_is_one_scoring_output(points: float) -> None:
    """Beside the reasons, which nbgrader does not read."""
    kinds = [output.output_type for output in outputs.scoring(result(points))]
    assert kinds[0] == "display_data"
    assert kinds[1:] == {0.0: ["error"], 1.5: ["execute_result"], 4.0: []}[points]


def test_words_of_a_student_in_a_verdict_are_no_score() -> None:
    """A message that looks like one stays a message."""
    assert score(result(0.0, message="4.0")) == 0.0
    assert score(result(0.0, code="print(4.0)", evidence=("4.0",))) == 0.0


def test_the_reasons_are_for_a_person() -> None:
    """What is wrong, what it looks like, where to read, the call that shows it."""
    verdict = result(0.0, diagnosis=Diagnosis("id", "A title", "page#a", "A hint?"), code="a = 1\nb = 2")
    assert outputs.reasons_text(verdict).split("\n") == [
        "not passed: E, title", "because", "This looks like: A title", "Think about it: A hint?", "Read: page#a",
        "The smallest call that shows it:", "    a = 1", "    b = 2",
    ]  # fmt: skip
    assert outputs.reasons_text(result(4.0)) == "passed: E, title"
