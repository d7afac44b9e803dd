"""Make the practice file of a lab: public scenarios, the reference's numbers, the mistakes' fingerprints; no code of either.

The file is a zip of JSON and safetensors with fixed time stamps, shipped in the wheel. `autograder.practice.file` reads it. It
holds only addresses that a check looks at, so the rest of the reference's trace does not leave the house, and no prediction's
answer.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from autograder.authoring import fingerprints
from autograder.checks.check import Check, Lab
from autograder.checks.compare import Expected
from autograder.errors import CourseError
from autograder.grading.course import lab_names, load_lab
from autograder.grading.judge import Judge
from autograder.practice.file import CHECKS, KNOWN, NUMBERS, WORDS, expected_from
from autograder.trace.codec import dump_scenarios, dump_traces, load_traces
from autograder.trace.scenario import matches
from autograder.trace.trace import Observation, Seen, Tensor, Trace

PRACTICE_SEED = 20150211  # the day when batch normalization appeared; public, unlike the seed of a grading run
STAMP = (2026, 1, 1, 0, 0, 0)
EXACT = 1e-9  # how far numbers of float64 may differ from machine to machine
ROUNDINGS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
IN_LAST_DIGITS = 4.0  # roundings of its dtype that a number may differ by, where the scenario is in that dtype


def practice_path(lab: str) -> Path:
    """Return where the practice file of a lab lies in the package."""
    return Path(__file__).resolve().parents[1] / "practice" / f"{lab}.zip"


def practice_bytes(lab: Lab, old: bytes | None = None) -> bytes:
    """Return the practice file of a lab; fingerprints are taken from the old one where nothing that they follow from changed."""
    judge, buffer = Judge(lab, PRACTICE_SEED), io.BytesIO()
    parts = _parts(judge)
    kept = _read(old) if old is not None else {}
    if any(not same_numbers(kept.get(name), raw) for name, raw in parts.items() if name.endswith(NUMBERS)):
        kept = {}  # fingerprints say how a mistake differs from the reference
    shipped = shipped_expected(judge, parts)
    for exercise in fingerprints.exercises(lab):
        before = kept.get(exercise + KNOWN)
        text = fingerprints.known_text(judge, exercise, shipped, before.decode() if before is not None else None)
        parts[exercise + KNOWN] = text.encode()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), content, zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def _parts(judge: Judge) -> dict[str, bytes]:
    """Return the files of the archive but the fingerprints."""
    entries = {check.name: _entry(judge, check) for check in judge.lab.checks}
    parts = {CHECKS: json.dumps(entries).encode()}
    for check in judge.lab.checks:
        if not check.secret:
            parts[check.name + NUMBERS] = dump_traces([_shown(check, e) for e in judge.expected(check)])
    return parts


def shipped_expected(judge: Judge, parts: Mapping[str, bytes]) -> dict[str, tuple[Expected, ...]]:
    """Return what the reference shows as a practice file says it, by the name of the check."""
    entries = json.loads(parts[CHECKS])
    return {
        check.name: expected_from(entries[check.name], judge.scenarios(check), parts[check.name + NUMBERS])
        for check in judge.lab.checks
        if not check.secret
    }


def _read(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _entry(judge: Judge, check: Check) -> dict[str, object]:
    entry: dict[str, object] = {word: getattr(check, word) for word in (*WORDS, "keys")}
    entry["scenarios"] = json.loads(dump_scenarios(judge.scenarios(check)))
    if not check.secret:
        entry["tolerances"] = [
            [{a: float(f"{t:.3g}") for a, t in step.items() if check.looks_at(a)} for step in e.tolerances]
            for e in judge.expected(check)
        ]
    return entry


def _shown(check: Check, expected: Expected) -> Trace:
    """Return the trace with the exact numbers and the dtypes of the run as it was, at the addresses that are compared.

    What a scenario is not about may be drawn at random, a fresh layer's weights for instance.
    """

    def is_compared(address: str) -> bool:
        return check.looks_at(address) and matches(address, expected.only)

    steps = zip(expected.trace.observations, expected.truth.observations, strict=True)
    observations = tuple(
        Observation(
            {a: _exact(value, truth.seen.get(a)) for a, value in plain.seen.items() if is_compared(a)},
            None if plain.failure is None else replace(plain.failure, frames=(), message=""),
        )
        for plain, truth in steps
    )
    return Trace(expected.trace.scenario, observations)


def _exact(value: Seen, truth: Seen) -> Seen:
    if isinstance(value, Tensor) and isinstance(truth, Tensor):
        return Tensor(value.dtype, truth.array)
    return truth if type(value) is float and type(truth) is float else value


def make_practice(course: Path, names: Sequence[str] = ()) -> list[Path]:
    """Write the practice file of every lab (or of those named) that is missing or stale; return what was written."""
    written = []
    for name in names or lab_names(course):
        if not is_fresh(course, name):
            path = practice_path(name)
            old = path.read_bytes() if path.is_file() else None
            path.write_bytes(practice_bytes(load_lab(course, name), old))
            written.append(path)
    return written


def is_fresh(course: Path, name: str) -> bool:
    """Tell whether the committed practice file says what the lab says now; numbers but for last digits, mistakes by digest."""
    path = practice_path(name)
    if not path.is_file():
        return False
    try:
        judge, old = Judge(load_lab(course, name), PRACTICE_SEED), _read(path.read_bytes())
        new, known = _parts(judge), fingerprints.exercises(judge.lab)
        return (
            [*old] == [*new, *(exercise + KNOWN for exercise in known)]
            and _same_words(old[CHECKS], new[CHECKS])
            and all(same_numbers(old[part], raw) for part, raw in new.items() if part.endswith(NUMBERS))
            and all(fingerprints.is_current(judge, exercise, old[exercise + KNOWN].decode()) for exercise in known)
        )
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise CourseError(f"{path} is no practice file: {error}. Delete it and run `make labs`.") from error


def same_numbers(old: bytes | None, new: bytes) -> bool:
    """Tell whether two files of traces hold the same, numbers but for the last digits, which another processor rounds otherwise."""
    return old is not None and _same_traces(load_traces(old), load_traces(new))


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
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        rounding = ROUNDINGS.get(a.dtype, 0.0) if _is_rounded(a) and _is_rounded(b) else 0.0
        near = max(EXACT, IN_LAST_DIGITS * rounding * _largest(a))
        return bool(np.allclose(a.array, b.array, rtol=EXACT, atol=near, equal_nan=True))
    if type(a) is float and type(b) is float:
        return math.isclose(a, b, rel_tol=EXACT, abs_tol=EXACT) or (math.isnan(a) and math.isnan(b))
    return a == b


def _is_rounded(given: Tensor) -> bool:
    """Tell whether the numbers are those of a run in float32 or less, and not the exact ones of such a scenario."""
    with np.errstate(over="ignore"):
        return np.array_equal(given.array, given.array.astype(np.float32), equal_nan=given.array.dtype.kind == "f")


def _largest(given: Tensor) -> float:
    return float(np.abs(given.array, where=np.isfinite(given.array), out=np.zeros(given.shape)).max(initial=0.0))
