"""A style changes how a source is written and not what it does."""

from __future__ import annotations

import pytest

from autograder.authoring.restyle import STYLES
from autograder.grading.judge import namespace


@pytest.mark.parametrize("style", STYLES)
def test_a_style_changes_the_text_and_not_what_it_does(style: str) -> None:
    """For a function, a class with a helper, a closure and a comprehension."""
    source = """\
import math
SCALE = 2
class Layer:
    def __init__(self, n, eps=0.5):
        size = n + eps
        self.size = size
    def forward(self, x):
        n = [i * self.size for i in x]
        return self.helped(n)
    def helped(self, n):
        total = sum(n)
        def inner(y):
            return math.sqrt(y + total)
        return inner(SCALE)
"""
    made = STYLES[style](source)
    assert made != source
    layers = [namespace(text, "layer")["Layer"](3) for text in (source, made)]  # type: ignore[operator]
    assert layers[0].forward([1, 2]) == layers[1].forward([1, 2])
