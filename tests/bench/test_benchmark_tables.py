"""Results as Markdown: what a cell shows, and what a table says of what was not measured."""

from __future__ import annotations

import pytest

from bench import tables


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "not measured"),
        (True, "yes"),
        (False, "no"),
        (0.012345, "0.0123"),
        (2.0, "2"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (10_000, "10,000"),
        ("words", "words"),
    ],
)
def test_a_number_is_shown_with_the_digits_that_count(cell: object, text: str) -> None:
    assert tables.shown(cell) == text


def test_a_table_is_markdown_with_numbers_on_the_right() -> None:
    assert tables.table(("a", "b"), [["x", 1], ["y", None]]) == (
        "| a | b |\n| --- | ---: |\n| x | 1 |\n| y | not measured |"
    )


def test_a_grader_that_was_left_out_has_no_row() -> None:
    run = {"way": "warm", "submissions": 4, "wall_s": 2.0, "cpu_s": 4.0}
    text = tables.rates({"otter": None, "ours": {"runs": [run]}})
    assert "otter" not in text
    assert "| this grader, warm | 4 | 2 | 120 | 1,000 | not measured |" in text


def test_stock_is_once_as_fast_as_itself() -> None:
    stock = {"submissions": 10, "wall_s": 24.0, "cpu_s": 20.0, "start_s": 4.0, "each_s": 2.0, "omp_num_threads": "1"}
    assert tables.rates({"stock": stock}).splitlines()[2].endswith("| 25 | 2,000 | 1 |")


def test_all_stages_have_a_title_and_their_sum_is_shown() -> None:
    each = dict.fromkeys(tables.STAGES, 0.01)
    text = tables.stages({"lab1": {"stages": {"each_cpu_s": each}}, "training": {}})
    assert text.count("| 10 |") == len(tables.STAGES)
    assert f"| all of it | {10 * len(tables.STAGES)} |" in text
    with pytest.raises(KeyError):
        tables.stages({"lab1": {"stages": {"each_cpu_s": {}}}})
