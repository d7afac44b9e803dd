"""Compare two traces and say where they first differ: failure, presence, shape, dtype, finite, value, in this order.

Nothing is broadcast: a (1, C) tensor is not a (C,) tensor. Each difference has an address that reads like code and, for numbers,
the worst index with both values. It compares; it does not know which trace is right or why they differ (`diagnose` does).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from autograder.checks.tolerance import Tolerances
from autograder.trace.scenario import matches
from autograder.trace.trace import Failure, Opaque, Seen, Tensor, Trace

Numbers: TypeAlias = npt.NDArray[np.float64]
QUIET = np.errstate(invalid="ignore", over="ignore")
"""For functions that compare numbers which may be infinite, or none: numpy need not warn of that."""
Kind = Literal["failure", "missing", "shape", "dtype", "finite", "value"]


@dataclass(frozen=True)
class Difference:
    """One difference: the step (from 0), the address, what kind, and one line for a person."""

    step: int
    address: str
    kind: Kind
    line: str


@dataclass(frozen=True)
class Expected:
    """What the reference showed: as it ran, its float64 truth, the tolerances derived from both; `only` is the scenario's."""

    trace: Trace
    truth: Trace
    tolerances: Tolerances
    only: tuple[str, ...] = ("*",)

    def due(self, looks_at: Callable[[str], bool]) -> Sequence[Sequence[Due]]:
        """Return, for each step, what is due at the addresses that a check looks at; found once, asked for each submission."""
        if looks_at not in self._due:
            self._due[looks_at] = tuple(self._step(step, looks_at) for step in range(len(self.trace.observations)))
        return self._due[looks_at]

    def reads(self, looks_at: Callable[[str], bool], address: str) -> bool:
        """Tell whether a check reads an address here; remembered, so only to be asked about what our own code showed."""
        known = self._read.setdefault(looks_at, {})
        if address not in known:
            known[address] = looks_at(address) and matches(address, self.only)
        return known[address]

    @cached_property
    def _read(self) -> dict[Callable[[str], bool], dict[str, bool]]:
        return {}

    @cached_property
    def _due(self) -> dict[Callable[[str], bool], Sequence[Sequence[Due]]]:
        return {}

    def _step(self, step: int, looks_at: Callable[[str], bool]) -> Sequence[Due]:
        truth = self.truth.observations[step].seen if step < len(self.truth.observations) else {}
        tolerances = self.tolerances[step] if step < len(self.tolerances) else {}
        return tuple(
            Due(address, value, truth.get(address, value), tolerances.get(address, 0.0))
            for address, value in self.trace.observations[step].seen.items()
            if looks_at(address) and matches(address, self.only)
        )


@dataclass(frozen=True)
class Due:
    """What is due at one address: as the reference ran, its truth, how far from that the numbers may lie."""

    address: str
    value: Seen
    truth: Seen
    tolerance: float

    def is_met(self, seen: Mapping[str, Seen]) -> bool:
        """Tell whether it plainly is; False where `difference` has to look closer."""
        if self.address not in seen:
            return False
        got, want = seen[self.address], self.value
        if isinstance(want, Tensor):
            return (
                type(got) is Tensor
                and got.dtype == want.dtype
                and got.array.shape == want.array.shape
                and bool((np.abs(np.subtract(self.exact, got.array)) <= self.tolerance).all())
            )
        return type(want) is not float and type(got) is type(want) and got == want

    @cached_property
    def exact(self) -> Numbers:
        """The numbers of a tensor that those of a submission are compared with."""
        assert isinstance(self.value, Tensor)
        same = isinstance(self.truth, Tensor) and self.truth.shape == self.value.shape
        return (self.truth if same else self.value).array.astype(np.float64)  # type: ignore[union-attr]


def differences(expected: Expected, given: Trace, looks_at: Callable[[str], bool]) -> Iterator[Difference]:
    """Yield the differences at the addresses that a check looks at, step by step; it ends with the first failure that differs."""
    for step, want in enumerate(expected.trace.observations):
        if step >= len(given.observations):
            yield Difference(step, "", "missing", "the run ended before this step")
            return
        got = given.observations[step]
        failed = failed_otherwise(step, want.failure, got.failure)
        if failed is not None:
            yield failed
            return
        with np.errstate(invalid="ignore", over="ignore"):
            unmet = [due for due in expected.due(looks_at)[step] if not due.is_met(got.seen)]
        for due in unmet:
            address = due.address
            if address not in got.seen:
                holds = got.seen.get(f"{address} holds")
                instead = f"{address} should be {brief(due.value)}; it is a {holds}"
                line = instead if isinstance(holds, str) else f"{address} is missing; expected {brief(due.value)}"
                yield Difference(step, address, "missing", line)
                continue
            found = difference(address, due.value, due.truth, got.seen[address], due.tolerance)
            if found is not None:
                yield Difference(step, address, *found)


def failed_otherwise(step: int, want: Failure | None, got: Failure | None) -> Difference | None:
    """Return the difference between two failures of a step, or None where they count as the same."""
    if want is None and got is None:
        return None
    if want is None and got is not None:
        frame = got.frames[-1] if got.frames else None
        where = "" if frame is None else f" (in {frame.function}{f': `{frame.text}`' if frame.text else ''})"
        return Difference(step, "", "failure", f"{got.type}: {_first_line(got.message)}{where}")
    assert want is not None
    if got is None:
        return Difference(step, "", "failure", f"{_a(want.type)} was expected, but nothing was raised")
    if want.type not in (got.type, *got.bases):
        line = f"{_a(want.type)} was expected, but {got.type} was raised: {_first_line(got.message)}"
        return Difference(step, "", "failure", line)
    return None


def difference(address: str, want: Seen, truth: Seen, got: Seen, tolerance: float) -> tuple[Kind, str] | None:
    """Compare what stands at one address: shape and dtype with the run as it was, numbers with the truth."""
    if isinstance(want, Tensor):
        if not isinstance(got, Tensor):
            return "missing", f"{address} should be a tensor of shape {want.shape}; it is {brief(got)}"
        if got.shape != want.shape:
            return "shape", f"{address} should have shape {want.shape}; it has {got.shape}"
        if got.dtype != want.dtype:
            return "dtype", f"{address} should be {want.dtype}; it is {got.dtype}"
        exact = truth if isinstance(truth, Tensor) and truth.shape == want.shape else want
        return _numbers(address, exact.array.astype(np.float64), got.array.astype(np.float64), tolerance)
    if type(want) is float and type(got) in (int, float, Tensor):
        number = got.array.astype(np.float64) if isinstance(got, Tensor) else np.float64(got)  # type: ignore[arg-type]
        if np.size(number) == 1:
            exact_number = np.float64(truth) if type(truth) is float else np.float64(want)
            return _numbers(address, np.asarray(exact_number), np.reshape(number, ()), tolerance)
    if type(got) is type(want) and got == want:
        return None
    return ("missing" if isinstance(got, Opaque) else "value"), _said(address, want, got)


def agrees(want: Seen, got: Seen, tolerance: float) -> bool:
    """Tell whether `difference` would find none between two values of which neither is the truth; it finds no words.

    It is asked for many addresses in `QUIET`, since to enter that for each takes as long as to compare.
    """
    if not isinstance(want, Tensor):
        if type(want) is float:
            return difference("", want, want, got, tolerance) is None
        return type(got) is type(want) and got == want
    if not isinstance(got, Tensor) or got.dtype != want.dtype or got.array.shape != want.array.shape:
        return False
    gap = np.abs(np.subtract(want.array, got.array, dtype=np.float64)).max(initial=0.0)
    if math.isfinite(gap):
        return bool(gap <= tolerance)
    return difference("", want, want, got, tolerance) is None


def _said(address: str, want: Seen, got: Seen) -> str:
    if isinstance(want, bool) and isinstance(got, bool):
        return f"'{address}' should be {want}; it is {got}"
    return f"{address} should be {brief(want)}; it is {brief(got)}"


def _numbers(address: str, want: Numbers, got: Numbers, tolerance: float) -> tuple[Kind, str] | None:
    if want.size == 0:
        return None
    odd = ~np.isfinite(got) & np.isfinite(want)
    if odd.any():
        index = tuple(int(i) for i in np.argwhere(odd)[0])
        place = f"{address}{_index(index)}"
        return "finite", f"{place} should be {want[index]:.6g}; it is {got[index]} ({int(odd.sum())} of {got.size})"
    with np.errstate(invalid="ignore"):
        gap = np.where((want == got) | (np.isnan(want) & np.isnan(got)), 0.0, np.abs(want - got))
    gap = np.where(np.isnan(gap), np.inf, gap)
    if float(gap.max()) <= tolerance:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))
    return "value", f"{address}{_index(index)} should be {want[index]:.6g}; it is {got[index]:.6g}" + (
        f" ({int((gap > tolerance).sum())} of {gap.size} differ; this one most)" if gap.size > 1 else ""
    )


def _a(word: str) -> str:
    return f"{'an' if word[:1] in 'AEIOU' else 'a'} {word}"


def _index(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()] or ["(no message)"]
    line = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return line if len(line) <= 160 else line[:157] + "..."


def brief(given: Seen) -> str:
    """Return a few words for what stands at an address."""
    if isinstance(given, Tensor):
        return f"a {given.dtype} tensor of shape {given.shape}"
    if isinstance(given, Opaque):
        return "missing" if given.type == "missing" else f"a {given.type}"
    if isinstance(given, str):
        return f"'{given}'" if given else "empty"
    return f"{given:.6g}" if isinstance(given, float) else repr(given)
