"""What is graded goes into the gradebook in batches, which get smaller towards the end of a class."""

from __future__ import annotations

import pytest

from autograder.commands.grade_class import BATCH, is_batch


def batches(count: int) -> list[int]:
    """The sizes of the batches of a class."""
    sizes, waiting = [], 0
    for number in range(1, count + 1):
        waiting += 1
        if is_batch(waiting, count - number):
            sizes.append(waiting)
            waiting = 0
    assert waiting == 0, "somebody is left over"
    return sizes


@pytest.mark.parametrize("count", [1, 2, 5, BATCH, BATCH + 1, 10 * BATCH, 1000])
def test_only_one_result_is_recorded_while_nothing_is_graded_any_more(count: int) -> None:
    sizes = batches(count)
    assert sum(sizes) == count
    assert sizes[-1] == 1
    assert max(sizes) <= BATCH
    assert sizes == sorted(sizes, reverse=True)


def test_a_large_class_has_whole_batches_until_little_is_left() -> None:
    sizes = batches(100 * BATCH)
    assert sizes.count(BATCH) == 99
    assert len(sizes) < 99 + 2 * BATCH.bit_length()
