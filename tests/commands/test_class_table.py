"""What is told of a class: each trouble once, with whom it kept from a grade."""

from __future__ import annotations

import pytest

from autograder.commands.class_table import not_graded


@pytest.mark.parametrize(
    ("troubles", "lines"),
    [
        ({}, []),
        ({"ann": "no disk"}, ["not graded: ann: no disk"]),
        ({"ann": "no disk", "bob": "no box"}, ["not graded: ann: no disk", "not graded: bob: no box"]),
        (
            {"ann": "no disk", "bob": "no box", "cal": "no disk"},
            ["not graded: 2 submissions (ann, cal): no disk", "not graded: bob: no box"],
        ),
        (dict.fromkeys("abcde", "no disk"), ["not graded: 5 submissions (a, b, c, d, e): no disk"]),
        (dict.fromkeys("abcdefg", "no disk"), ["not graded: 7 submissions (a, b, c, d, e and 2 more): no disk"]),
    ],
)
def test_a_trouble_is_told_once_with_how_many_it_held(troubles: dict[str, str], lines: list[str]) -> None:
    assert not_graded(troubles) == lines
