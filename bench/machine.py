"""What somebody needs to know about a run of the bench: the machine, the versions, the day; no name of anybody's machine."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from autograder.sandbox.processors import processors
from bench.meter import method

PACKAGES = ("torch", "numpy", "nbgrader", "nbconvert", "ipykernel", "jupyter_client")


def about() -> dict[str, Any]:
    """Return the day, the machine and the versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {
            "processors": processors(),
            "processor": _processor(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
            "system": f"{platform.system()} {platform.release().partition('-')[0]}",
            "load_before": os.getloadavg()[0],
            "cpu_time_from": method(),
            "root": os.geteuid() == 0,
        },
        "versions": {"Python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
