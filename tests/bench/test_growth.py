"""The simulation of larger classes: known small cases, and that it is the real scheduler that runs."""

from __future__ import annotations

import pytest

from autograder.commands.grade_class import BATCH
from autograder.grading import pool
from autograder.grading.pool import Done
from bench import growth
from bench.growth import SimulatedExecutor, Times, simulated_s, table
from bench.larger import times_of

EACH_S = Times((2.0,), record_s=0.0)


@pytest.mark.parametrize(
    ("students", "workers", "processors", "times", "seconds"),
    [
        (1, 1, 2, EACH_S, 2.0),
        (6, 1, 2, EACH_S, 12.0),
        (1, 8, 9, EACH_S, 2.0),  # more workers than work
        (6, 2, 1, EACH_S, 12.0),  # two workers on one processor are no faster than one
        (1, 1, 2, Times((2.0,), 0.0, start_s=3.0, worker_start_s=1.0), 6.0),
        (3, 1, 2, Times((1.0, 5.0), 0.0), 7.0),  # measured times are used again from the first on
        (1, 1, 2, Times((2.0,), record_s=0.5), 2.5),  # recording what came last waits for nothing
        (BATCH, 1, 1, Times((1.0,), record_s=1.0), 2.0 * BATCH),
    ],
)
def test_a_class_that_can_be_counted_on_fingers_takes_what_it_must(
    students: int, workers: int, processors: int, times: Times, seconds: float
) -> None:
    assert simulated_s(students, workers, processors, times, at_once=1) == pytest.approx(seconds)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_workers_share_the_work_and_no_one_waits_long(workers: int) -> None:
    least_s = 400 * 2.0 / workers
    # Not all are asked at once before there is a first result, and the last bundles do not end at one moment.
    assert least_s <= simulated_s(400, workers, workers + 1, EACH_S, at_once=1) <= 1.1 * least_s + 8


def test_recording_goes_on_beside_the_workers_where_there_is_a_processor_for_it() -> None:
    times = Times((1.0,), record_s=0.25)
    class_of = 10 * BATCH
    beside, on_one = (simulated_s(class_of, 1, processors, times) for processors in (2, 1))
    assert beside < 1.1 * class_of
    assert on_one == pytest.approx(1.25 * class_of)


def test_the_one_process_that_records_bounds_the_growth() -> None:
    times = Times((1.0,), record_s=0.5)
    few, many = (simulated_s(320, workers, workers + 1, times) for workers in (1, 8))
    assert few == pytest.approx(320, rel=0.05)
    assert many == pytest.approx(160, rel=0.1)


def test_a_loaded_scheduler_keeps_workers_busy_by_work_that_waits_for_them() -> None:
    executor = SimulatedExecutor(1, 2, lambda name: 1.0, 0.0)
    first, second = (executor.submit(lambda: None, (growth._work(name),)) for name in "ab")
    executor.spend(1.5)
    assert first.done()
    assert not second.done()
    executor.wait({second}, "FIRST_COMPLETED")
    assert executor.now_s == pytest.approx(2.0)


def test_it_is_the_real_scheduler_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    submit = SimulatedExecutor.submit

    def spied(self: SimulatedExecutor, fn: object, *args: object) -> object:
        assert fn is pool.grade_bundle
        seen.append(len(args[0]))  # type: ignore[arg-type]
        return submit(self, fn, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedExecutor, "submit", spied)
    simulated_s(100, 2, 3, EACH_S)
    assert sum(seen) == 100
    assert max(seen) == pool.LARGEST_BUNDLE
    monkeypatch.setattr(growth, "grade_all", lambda *_: iter([Done("a", None, None, "never asked anybody")]))
    assert simulated_s(100, 2, 3, EACH_S) == 0.0


def test_the_clock_of_the_scheduler_is_put_back() -> None:
    before = pool.wait
    simulated_s(3, 1, 2, EACH_S)
    assert pool.wait is before


def test_every_row_says_that_it_is_simulated_and_for_what() -> None:
    rows = table((10, 100), (1, 4), EACH_S, None)
    assert [(row["submissions"], row["workers"], row["processors"]) for row in rows] == [
        (10, 1, 2),
        (10, 4, 5),
        (100, 1, 2),
        (100, 4, 5),
    ]
    assert all(row["simulated"] for row in rows)
    assert rows[2]["per_minute"] == pytest.approx(30)


def test_replayed_times_are_cpu_time_shared_out_by_the_wall_time_of_each() -> None:
    stages = {"each_cpu_s": {"cells": 0.1, "judge": 0.2, "record": 9.0}, "walls_s": [0.2, 0.6], "record_wall_s": 0.05}
    times = times_of(stages, {"help_s": 0.2, "first_result_s": 2.6})
    assert times.service_s == [pytest.approx(0.15), pytest.approx(0.45)]
    assert times.record_s == 0.05
    assert times.start_s + times.worker_start_s + 0.4 == pytest.approx(2.6)
