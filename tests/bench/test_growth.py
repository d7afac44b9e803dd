"""The simulation of larger classes: known small cases, and that it is the real scheduler that runs."""

from __future__ import annotations

import pytest

from autograder.commands.grade_class import BATCH
from autograder.grading import pool
from autograder.grading.pool import Done
from bench import growth
from bench.growth import SimulatedExecutor, Times, simulated_s, table
from bench.larger import JUDGE, PLAY, times_of
from bench.tables import STAGES

EACH_S = Times((2.0,), (0.0,), record_s=0.0)


@pytest.mark.parametrize(
    ("students", "workers", "processors", "times", "seconds"),
    [
        (1, 1, 2, EACH_S, 2.0),
        (6, 1, 2, EACH_S, 12.0),
        (1, 8, 9, EACH_S, 2.0),  # more workers than work
        (6, 2, 1, EACH_S, 12.0),  # two workers on one processor are no faster than one
        (1, 1, 2, Times((2.0,), (0.0,), 0.0, start_s=3.0, worker_start_s=1.0), 6.0),
        (1, 1, 1, Times((2.0,), (0.0,), 0.0, start_s=3.0, worker_start_s=1.0), 7.0),  # a worker's two processes begin
        (2, 1, 2, Times((1.0, 5.0), (0.0,), 0.0), 6.0),
        (4, 1, 2, Times((1.0, 5.0), (0.0,), 0.0), 16.0),  # the later half of the measured times is used again
        (7, 1, 2, Times((9.0, 1.0, 5.0), (0.0,), 0.0), 15.0 + 6.0 + 6.0),
        (1, 1, 2, Times((2.0,), (0.0,), record_s=0.5), 2.5),  # recording what came last waits for nothing
        (BATCH, 1, 1, Times((1.0,), (0.0,), record_s=1.0), 2.0 * BATCH),
        (4, 1, 2, Times((2.0,), (1.0,), 0.0), 12.0),  # nobody else is played while the last one of a bundle is judged
    ],
)
def test_a_class_that_can_be_counted_on_fingers_takes_what_it_must(
    students: int, workers: int, processors: int, times: Times, seconds: float
) -> None:
    assert simulated_s(students, workers, processors, times, at_once=1) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("students", "at_once", "processors", "seconds"),
    [
        # Each plays for 2 s and is judged for 1 s. One worker gets bundles of 1, 2, 1, 1, 1.
        (6, 1, 3, 3.0 + 5.0 + 3.0 + 3.0 + 3.0),
        # Of 1, 2, 2, 1, none but the first smaller than what is played at once: two are played, one is judged, then the other.
        (6, 2, 3, 3.0 + 4.0 + 4.0 + 3.0),
        (6, 2, 1, 18.0),  # on one processor nothing is gained
        (16, 1, 2, 3.0 + 9.0 + 11.0 + 7.0 + 3.0 + 3.0 + 3.0),  # 1, 4, 5, 3, 1, 1, 1
        (16, 2, 3, 3.0 + 6.0 + 7.0 + 5.0 + 4.0 + 3.0),  # 1, 4, 5, 3, 2, 1
        (10, 3, 9, 3.0 + 5.0 + 5.0 + 5.0),  # 1, 3, 3, 3
    ],
)
def test_one_worker_plays_several_at_once_where_there_are_processors(
    students: int, at_once: int, processors: int, seconds: float
) -> None:
    """And judges one after the other, while the next ones of its bundle play."""
    times = Times((2.0,), (1.0,), record_s=0.0)
    assert simulated_s(students, 1, processors, times, at_once) == pytest.approx(seconds)


def test_a_worker_does_not_run_ahead_of_its_judge() -> None:
    """Two have been played after 1 s; then one is judged, one waits, and of two others one plays and one does not yet."""
    executor = SimulatedExecutor(1, 9, lambda name: (1.0, 5.0), 0.0)
    executor.submit(lambda: None, tuple(map(growth._work, "abcd")), 2)
    executor.spend(1.5)
    assert sorted(task.left_s for task in executor._tasks) == [pytest.approx(0.5), pytest.approx(4.5)]


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_workers_share_the_work_and_no_one_waits_long(workers: int) -> None:
    least_s = 400 * 2.0 / workers
    # Not all are asked at once before there is a first result, and the last bundles do not end at one moment.
    assert least_s <= simulated_s(400, workers, workers + 1, EACH_S, at_once=1) <= 1.1 * least_s + 8


def test_recording_goes_on_beside_the_workers_where_there_is_a_processor_for_it() -> None:
    times = Times((1.0,), (0.0,), record_s=0.25)
    class_of = 10 * BATCH
    beside, on_one = (simulated_s(class_of, 1, processors, times, at_once=1) for processors in (2, 1))
    assert beside < 1.1 * class_of
    assert on_one == pytest.approx(1.25 * class_of)


def test_the_one_process_that_records_bounds_the_growth() -> None:
    times = Times((1.0,), (0.0,), record_s=0.5)
    few, many = (simulated_s(320, workers, workers + 1, times, at_once=1) for workers in (1, 8))
    assert few == pytest.approx(320, rel=0.05)
    assert many == pytest.approx(160, rel=0.1)


def test_a_loaded_scheduler_keeps_workers_busy_by_work_that_waits_for_them() -> None:
    executor = SimulatedExecutor(1, 2, lambda name: (1.0, 0.0), 0.0)
    first, second = (executor.submit(lambda: None, (growth._work(name),), 1) for name in "ab")
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
    simulated_s(400, 2, 3, EACH_S)
    assert sum(seen) == 400
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
        (10, 1, 1),
        (10, 4, 4),
        (100, 1, 1),
        (100, 4, 4),
    ]
    assert all(row["simulated"] for row in rows)
    assert rows[2]["per_minute"] == pytest.approx(30)


def test_replayed_times_are_cpu_time_shared_out_by_the_wall_time_of_each() -> None:
    stages = {
        "each_cpu_s": {
            **{"cells": 0.1, "probe": 0.2, "kernel": 0.1, "messages": 0.4},
            **{"graft": 0.05, "judge": 0.15, "record": 9.0},
        },
        "play_walls_s": [1.0, 3.0],
        "judge_walls_s": [0.3, 0.1],
        "record_wall_s": 0.05,
    }
    times = times_of(stages, {"help_s": 0.2, "first_result_s": 4.6})
    assert times.play_s == [pytest.approx(0.4), pytest.approx(1.2)]
    assert times.judge_s == [pytest.approx(0.3), pytest.approx(0.1)]
    assert times.record_s == 0.05
    assert times.start_s + times.worker_start_s + 2.2 == pytest.approx(4.6)


def test_every_stage_is_replayed_once() -> None:
    assert sorted((*PLAY, *JUDGE, "record")) == sorted(STAGES)
