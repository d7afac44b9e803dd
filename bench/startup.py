"""How long somebody waits: for a command's help, a file tried, a check in a notebook, the first result of a class."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.grading.course import load_lab
from bench.meter import Cost, measured
from bench.ours import AUTOGRADER, ENVIRONMENT, OwnCourse
from bench.submissions import LABS, Submission, material

LAB = LABS["lab1"]
EXERCISES = ("solve-bn1d", "solve-bn2d", "solve-backward")
HELPERS = ("solve-statistics", "solve-normalize", "solve-running", "solve-backward-steps")
CHECK, MISTAKE = "bn1d-training", "momentum-turned-round-1d"


def measure(course: Path, scratch: Path, submissions: Sequence[Submission], times: int) -> dict[str, Any]:
    """Return medians of wall seconds; the first run of each command is not counted, since it fills the disk's cache."""
    cells = material(course, LAB).solved
    file = scratch / "solved.py"
    file.write_text("\n\n".join(["import torch\nfrom torch import nn", *(cells[n] for n in (*HELPERS, *EXERCISES))]))
    own = OwnCourse(scratch / "startup", course, LAB)

    def median_s(*words: str | Path) -> float:
        def run() -> Cost:
            return measured((AUTOGRADER, *words), where=course, environment=ENVIRONMENT)

        run()
        return statistics.median(run().wall_s for _ in range(times))

    own.first_result_s(submissions[:2])
    checks = [check_in_notebook(course) for _ in range(times)]
    return {
        "help_s": median_s("--help"),
        "try_s": median_s("try", LAB, file, "--seed", "1"),
        "check_s": statistics.median(first_s for first_s, _, _ in checks),
        "next_check_s": statistics.median(next_s for _, next_s, _ in checks),
        "failed_check_s": statistics.median(failed_s for _, _, failed_s in checks),
        "first_result_s": statistics.median(own.first_result_s(submissions) for _ in range(times)),
        "repeats": times,
        "class": len(submissions),
    }


def check_in_notebook(course: Path) -> tuple[float, float, float]:
    """Return how long a cell with a `check` takes in a student's notebook: the first, the next, and one that does not pass."""
    from jupyter_client.manager import KernelManager

    cells = material(course, LAB).solved
    mistake = next(m for m in load_lab(course, LAB).mistakes if m.id == MISTAKE)
    manager = KernelManager()  # of this Python, as Jupyter starts it; no box
    manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel(cwd=str(course))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)

        def run(source: str, status: str = "ok") -> float:
            began_s = time.perf_counter()
            reply = client.execute_interactive(source, timeout=60, output_hook=lambda message: None)
            took_s = time.perf_counter() - began_s
            assert reply["content"]["status"] == status, f"{source!r} in a notebook: {reply['content']}"
            return took_s

        run("import torch\nfrom torch import nn\nfrom autograder.student import check")
        for name in (*HELPERS, *EXERCISES):
            run(cells[name])
        first_s, next_s = run(f'check("{CHECK}")'), run(f'check("{CHECK}")')
        run(mistake.source)
        return first_s, next_s, run(f'check("{mistake.check}")', "error")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
