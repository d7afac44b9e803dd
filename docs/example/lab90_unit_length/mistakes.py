"""The named mistakes of the example lab: at least one for each check of the contract, each wrong in one way only."""

from __future__ import annotations

from autograder.checks.check import Mistake

FORMULATION = "book/mathematical-formulation.html#"

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="unit-columns",
        exercise="unit_length",
        check="unit-rows",
        title="The lengths are those of the columns, not of the rows",
        symptom="Where N and C are equal nothing raises, and the rows come out with lengths other than 1.",
        hint="How many lengths does a batch of N rows have? Which axis has to disappear in the sum?",
        page=FORMULATION + "the-set",
        source="""\
def unit_length(x, eps=1e-12):
    length = (x * x).sum(dim=0, keepdim=True).sqrt()
    return x / length.clamp(min=eps)
""",
    ),
    Mistake(
        id="unit-eps-added",
        exercise="unit_length",
        check="unit-floor",
        title="eps is added to the length instead of being a floor under it",
        symptom="With a small eps all seems right; with eps=0.5 every row comes out too short.",
        hint="What length should a row have afterwards when it is much longer than eps? Try it with eps=0.5.",
        page=FORMULATION + "epsilon",
        source="""\
def unit_length(x, eps=1e-12):
    length = (x * x).sum(dim=1, keepdim=True).sqrt()
    return x / (length + eps)
""",
    ),
    Mistake(
        id="unit-in-place",
        exercise="unit_length",
        check="unit-manners",
        title="The input itself is changed",
        symptom="The result is right, and x is no longer what it was before the call.",
        hint="Who else may hold the tensor that you were given? Return a new one.",
        page=FORMULATION + "as-a-module",
        source="""\
def unit_length(x, eps=1e-12):
    length = (x * x).sum(dim=1, keepdim=True).sqrt()
    x /= length.clamp(min=eps)
    return x
""",
    ),
)
