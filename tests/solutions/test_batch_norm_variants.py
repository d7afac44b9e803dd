"""Every variant of lab 1 is an honest solution: it does what torch.nn does wherever the contract speaks."""

from __future__ import annotations

import re
from functools import cache

import pytest
from differential import first_difference, watched
from torch_truth import TRUTH, define, truth_backward
from watching import Record

from autograder.checks.check import Variant
from solutions.lab01_batch_norm.variants import VARIANTS

NAMES = ("BatchNorm1d", "BatchNorm2d", "batch_norm_backward")
BY_ID = [pytest.param(variant, id=variant.id) for variant in VARIANTS]


@cache
def truth(name: str) -> Record:
    return watched(name, truth_backward if name == NAMES[2] else TRUTH[int(name[-2])])


@pytest.mark.parametrize("variant", BY_ID)
def test_a_variant_agrees_with_torch(variant: Variant) -> None:
    """In training and evaluation, with all options, dtypes, layouts and errors, all three names in one file."""
    rtol, floor = (1e-5, 1.0) if variant.id == "float32-inside" else (1e-8, 1e-3)
    for name in NAMES:
        difference = first_difference(truth(name), watched(name, define(variant.file, name)), rtol, floor)
        assert difference is None, f"{name}: {difference}"


@pytest.mark.parametrize("variant", BY_ID)
def test_a_variant_is_self_contained(variant: Variant) -> None:
    """Each of its sources runs alone and defines its name."""
    assert tuple(variant.sources) == NAMES
    for name, source in variant.sources.items():
        assert callable(define(source, name))


@pytest.mark.parametrize("variant", BY_ID)
def test_a_variant_does_its_own_work(variant: Variant) -> None:
    """No call of torch's normalization and no autograd in the backward function."""
    assert not re.search(r"nn\.BatchNorm|functional|F\.|\.batch_norm\(|layer_norm|aten|autograd\.grad", variant.file)
    assert ".backward(" not in variant.sources["batch_norm_backward"]


def test_there_are_variants_enough() -> None:
    """At least sixteen, with different ids and really different texts."""
    assert len(VARIANTS) >= 16
    assert len({variant.id for variant in VARIANTS}) == len(VARIANTS)
    assert len({variant.file for variant in VARIANTS}) == len(VARIANTS)
