"""Make the practice file of a lab: the public scenarios with the numbers that the reference gives, and nothing of its code.

The file is a zip of JSON and safetensors with fixed time stamps, shipped in the wheel. `autograder.student` reads it. It holds only
addresses that a check looks at, so the rest of the reference's trace does not leave the house, and no prediction's answer.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from autograder.checks.check import Check, Lab
from autograder.checks.compare import Expected
from autograder.errors import CourseError
from autograder.grading.course import lab_names, load_lab
from autograder.grading.judge import Judge
from autograder.trace.codec import dump_scenarios, dump_traces, load_traces
from autograder.trace.trace import Observation, Seen, Tensor, Trace

PRACTICE_SEED = 20150211  # the day when batch normalization appeared; public, unlike the seed of a grading run
STAMP = (2026, 1, 1, 0, 0, 0)


def practice_path(lab: str) -> Path:
    """Return where the practice file of a lab lies in the package."""
    return Path(__file__).resolve().parents[1] / "practice" / f"{lab}.zip"


def practice_bytes(lab: Lab) -> bytes:
    """Return the practice file of a lab."""
    judge, buffer = Judge(lab, PRACTICE_SEED), io.BytesIO()
    entries = {check.name: _entry(judge, check) for check in lab.checks}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name: str, content: bytes) -> None:
            archive.writestr(zipfile.ZipInfo(name, STAMP), content, zipfile.ZIP_DEFLATED)

        put("checks.json", json.dumps(entries, sort_keys=True).encode())
        for check in lab.checks:
            if not check.secret:
                put(f"{check.name}.safetensors", dump_traces([_shown(check, e) for e in judge.expected(check)]))
    return buffer.getvalue()


def _entry(judge: Judge, check: Check) -> dict[str, object]:
    words = ("exercise", "points", "title", "keys", "contract", "autograd", "secret")
    entry: dict[str, object] = {word: getattr(check, word) for word in words}
    entry["scenarios"] = json.loads(dump_scenarios(judge.scenarios(check)))
    if not check.secret:
        entry["tolerances"] = [
            [{a: float(f"{t:.3g}") for a, t in step.items() if check.looks_at(a)} for step in e.tolerances]
            for e in judge.expected(check)
        ]
    return entry


def _shown(check: Check, expected: Expected) -> Trace:
    """Return the trace with the exact numbers and the dtypes of the run as it was, at the addresses that are compared."""
    steps = zip(expected.trace.observations, expected.truth.observations, strict=True)
    observations = tuple(
        Observation(
            {a: _exact(value, truth.seen.get(a)) for a, value in plain.seen.items() if check.looks_at(a)},
            None if plain.failure is None else replace(plain.failure, frames=(), message=""),
        )
        for plain, truth in steps
    )
    return Trace(expected.trace.scenario, observations)


def _exact(value: Seen, truth: Seen) -> Seen:
    return Tensor(value.dtype, truth.array) if isinstance(value, Tensor) and isinstance(truth, Tensor) else value


def make_practice(course: Path) -> list[Path]:
    """Write the practice file of every lab whose committed file is missing or stale; return what was written."""
    written = []
    for name in lab_names(course):
        if not is_fresh(course, name):
            path = practice_path(name)
            path.write_bytes(practice_bytes(load_lab(course, name)))
            written.append(path)
    return written


def is_fresh(course: Path, name: str) -> bool:
    """Tell whether the committed practice file says what the lab says now, numbers to nine digits."""
    path = practice_path(name)
    if not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(io.BytesIO(practice_bytes(load_lab(course, name)))) as new:
            if old.namelist() != new.namelist() or not _same_words(old.read("checks.json"), new.read("checks.json")):
                return False
            traces = [n for n in new.namelist() if n.endswith(".safetensors")]
            return all(_same_traces(load_traces(old.read(n)), load_traces(new.read(n))) for n in traces)
    except (zipfile.BadZipFile, KeyError) as error:
        raise CourseError(f"{path} is no practice file: {error}. Delete it and run `make labs`.") from error


def _same_words(old: bytes, new: bytes) -> bool:
    a, b = json.loads(old), json.loads(new)
    for entries in (a, b):
        for entry in entries.values():
            entry.pop("tolerances", None)  # they follow the rounding of this machine
    return bool(a == b)


def _same_traces(old: tuple[Trace, ...], new: tuple[Trace, ...]) -> bool:
    if len(old) != len(new):
        return False
    for a, b in zip(old, new, strict=True):
        if [o.failure for o in a.observations] != [o.failure for o in b.observations]:
            return False
        for left, right in zip(a.observations, b.observations, strict=True):
            if left.seen.keys() != right.seen.keys():
                return False
            if not all(_same(left.seen[key], right.seen[key]) for key in left.seen):
                return False
    return True


def _same(a: Seen, b: Seen) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        close = np.allclose(a.array, b.array, rtol=1e-9, atol=1e-9, equal_nan=True) if a.shape == b.shape else False
        return a.dtype == b.dtype and bool(close)
    return a == b
