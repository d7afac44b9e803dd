"""Every mistake of lab 1 is one: it behaves otherwise than the plain solution. Its words are tested in test_mistakes_words.py."""

from __future__ import annotations

import re
from functools import cache

import pytest
from differential import first_difference, watched
from torch_truth import define
from watching import Record

from autograder.checks.check import Mistake
from solutions.lab01_batch_norm.mistakes import MISTAKES
from solutions.lab01_batch_norm.mistakes_builtin import BUILTIN
from solutions.lab01_batch_norm.plain import PLAIN, edit

CHECKS = {
    "BatchNorm1d": ("bn1d", "interface training running evaluation ncl options errors gradients numerics"),
    "BatchNorm2d": ("bn2d", "interface training running evaluation options errors gradients numerics"),
    "batch_norm_backward": ("bnb", "input parameters numerics"),
}
BY_ID = [pytest.param(mistake, id=mistake.id) for mistake in MISTAKES]
FORBIDDEN = re.compile(r"nn\.BatchNorm|functional\.(batch|layer)_norm|aten|autograd\.grad|\.backward\(")


@cache
def plain(name: str) -> Record:
    return watched(name, define(PLAIN[name], name))


@pytest.mark.parametrize("mistake", BY_ID)
def test_a_mistake_is_wrong(mistake: Mistake) -> None:
    """It differs from the plain solution somewhere, or lets torch do the work."""
    thing = define(mistake.source, mistake.exercise)
    difference = first_difference(plain(mistake.exercise), watched(mistake.exercise, thing))
    if mistake in BUILTIN:
        assert FORBIDDEN.search(mistake.source)
    else:
        assert difference is not None
        assert not FORBIDDEN.search(mistake.source)


def test_there_are_mistakes_enough() -> None:
    """At least seventy, and every check of the contract has some."""
    assert len(MISTAKES) >= 70
    made_for = {f"{prefix}-{topic}" for prefix, topics in CHECKS.values() for topic in topics.split()}
    assert {mistake.check for mistake in MISTAKES} == made_for


def test_an_edit_that_hits_nothing_is_refused() -> None:
    """Otherwise a mistake could silently be the right answer."""
    with pytest.raises(ValueError, match="0 times"):
        edit("mean = x.mean()", ("median", "mean"))
    with pytest.raises(ValueError, match="2 times"):
        edit("x = x", ("x", "y"))
