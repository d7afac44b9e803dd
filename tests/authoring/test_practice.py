"""The practice file of a lab is made the same each time, from what changed alone, and is known to be stale when it is."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from autograder.authoring import labs as labs_command
from autograder.authoring import practice
from autograder.authoring.practice import PRACTICE_SEED, is_fresh, make_practice, practice_bytes, same_numbers
from autograder.checks.check import Check, Draw, Lab, Mistake
from autograder.errors import CourseError
from autograder.grading.judge import Judge, namespace
from autograder.practice.file import Known, PracticeLab
from autograder.practice.naming import names_of
from autograder.probe.run import run
from autograder.trace.codec import dump_traces
from autograder.trace.scenario import Call, Recipe, Scenario
from autograder.trace.trace import Observation, Tensor, Trace

REFUSE = "z = [0][x.dim() - 1] if x.dim() == 1 else int('two axes'); "  # int raises a ValueError


def f(x: torch.Tensor, scale: float) -> torch.Tensor:
    """The reference."""
    if x.dim() != 1:
        raise ValueError("one axis")
    return x * scale + 1


def _scenarios(draw: Draw) -> tuple[Scenario, ...]:
    return tuple(Scenario(f"{n} numbers", (Call("f", (draw.tensor(n, loc=2.0), s)),)) for n, s in ((2, 3.0), (3, 1.0)))


def _one(draw: Draw) -> tuple[Scenario, ...]:
    return (Scenario("scale 1", (Call("f", (draw.tensor(4, dtype="float32"), 1.0)),)),)


def _errors(draw: Draw) -> tuple[Scenario, ...]:
    return (Scenario("two axes", (Call("f", (Recipe((2, 2), 1), 1.0)),)),)


CHECKS = (
    Check("values", "f", 2, "values", _scenarios, ("result",)),
    Check("unscaled", "f", 1, "a scale of one", _one, ("result",)),
    Check("errors", "f", 1, "a ValueError", _errors, ()),
)


def mistake(name: str, check: str, body: str) -> Mistake:
    """A wrong f in a few words."""
    source = "import torch\ndef f(x, scale):\n" + "".join(f"    {line}\n" for line in body.split("; "))
    return Mistake(name, "f", check, f"{name} it is", "symptom", "hint", "book/page.html#here", source)


MISTAKES = (
    mistake("no-one", "values", REFUSE + "return x * scale"),
    mistake("no-scale", "values", REFUSE + "return x + 1"),
    mistake("list", "values", REFUSE + "return [x]"),
    mistake("flat", "errors", "return x * scale + 1"),
    mistake("flat-zero", "errors", "return x * scale + 1 if x.dim() == 1 else torch.zeros(1)"),
    mistake("crash", "values", "raise TypeError('expected 3 things')"),
)
LAB = Lab("lab09_small", "A small lab", ("f",), CHECKS, {"f": f}, MISTAKES)


def shelf(folder: Path, lab: Lab) -> PracticeLab:
    """The lab as a student has it."""
    path = folder / f"{lab.name}.zip"
    path.write_bytes(practice_bytes(lab))
    return PracticeLab(lab.name, path)


def named(lab: PracticeLab, names: Mapping[str, Any], check: str = "values") -> list[str]:
    """The mistakes that practice names."""

    def asked(other: Check) -> Sequence[Trace]:
        return run(lab.scenarios(other.name), names)

    found: tuple[Known, ...] = names_of(lab, lab.checks[check], asked(lab.checks[check]), asked)
    return [entry.id for entry in found]


@pytest.mark.parametrize("entry", MISTAKES, ids=lambda entry: entry.id)
def test_every_mistake_is_named_without_its_source(entry: Mistake, tmp_path: Path) -> None:
    """In its own check; the file holds nothing of the source."""
    lab = shelf(tmp_path, LAB)
    assert named(lab, namespace(entry.source, entry.id), entry.check) == [entry.id]
    with zipfile.ZipFile(tmp_path / f"{LAB.name}.zip") as archive:
        text = b"".join(archive.read(name) for name in archive.namelist()).decode("utf-8", "replace")
    assert "return x" not in text
    assert "expected 3 things" not in text


@pytest.mark.parametrize(
    "answer",
    [
        f,
        lambda x, scale: x * scale + 1.001,
        lambda x, scale: x * scale * 1.01 if x.dim() == 1 else f(x, scale),
        lambda x, scale: [x, x],
        lambda x, scale: None,
        lambda x, scale: x.flip(0) * scale,
    ],
)
def test_other_answers_are_not_named(answer: Any, tmp_path: Path) -> None:
    """A right one, and wrong ones that nobody has named."""
    assert named(shelf(tmp_path, LAB), {"f": answer}) == []


def test_the_same_lab_makes_the_same_bytes() -> None:
    """So that a commit shows what changed."""
    assert practice_bytes(LAB) == practice_bytes(LAB)
    assert practice_bytes(LAB) == practice_bytes(LAB, practice_bytes(LAB))


def test_only_what_changed_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred mistakes take minutes; one more takes a second."""
    old, ran = practice_bytes(LAB), []
    honest = Judge.mistaken
    monkeypatch.setattr(
        Judge, "mistaken", lambda self, entry, *rest: (ran.append(entry.id), honest(self, entry, *rest))[1]
    )
    other = replace(MISTAKES[0], source=MISTAKES[0].source.replace("x * scale", "scale * x * 2"))
    changed = replace(LAB, mistakes=(other, *MISTAKES[2:], mistake("new", "values", REFUSE + "return x")))
    assert practice_bytes(changed, old) == practice_bytes(changed)
    ran.clear()
    practice_bytes(changed, old)
    assert set(ran) == {"no-one", "new"}
    ran.clear()
    practice_bytes(replace(LAB, reference={"f": lambda x, scale: f(x, scale) * 2}), old)
    assert set(ran) == {entry.id for entry in MISTAKES}


CHANGES: dict[str, Any] = {
    "a title": {"mistakes": (replace(MISTAKES[0], title="another title"), *MISTAKES[1:])},
    "a hint": {"mistakes": (replace(MISTAKES[0], hint="another hint"), *MISTAKES[1:])},
    "a source": {"mistakes": (replace(MISTAKES[0], source=MISTAKES[1].source), *MISTAKES[1:])},
    "a mistake less": {"mistakes": MISTAKES[1:]},
    "no mistakes": {"mistakes": ()},
    "the order": {"mistakes": MISTAKES[::-1]},
    "a scenario": {"checks": (CHECKS[0], replace(CHECKS[1], scenarios=lambda d: _one(d) * 2), CHECKS[2])},
    "points": {"checks": (replace(CHECKS[0], points=3), *CHECKS[1:])},
    "whether torch's own layers may run": {"checks": (replace(CHECKS[0], builtins=True), *CHECKS[1:])},
    "the reference": {"reference": {"f": lambda x, scale: f(x, scale) + 1e-3}},
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A course of one lab that can be changed: course(lab) puts it there."""
    labs = {LAB.name: LAB}
    monkeypatch.setattr(practice, "practice_path", lambda name: tmp_path / f"{name}.zip")
    monkeypatch.setattr(practice, "lab_names", lambda _: tuple(labs))
    monkeypatch.setattr(practice, "load_lab", lambda _, name: labs[name])
    return lambda lab: labs.update({LAB.name: lab})


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_the_file_stale(change: str, course: Any, tmp_path: Path) -> None:
    """And making it again makes it fresh."""
    assert make_practice(tmp_path) == [tmp_path / f"{LAB.name}.zip"]
    assert is_fresh(tmp_path, LAB.name)
    assert make_practice(tmp_path) == []
    course(replace(LAB, **CHANGES[change]))
    assert not is_fresh(tmp_path, LAB.name)
    make_practice(tmp_path, [LAB.name])
    assert is_fresh(tmp_path, LAB.name)


@pytest.mark.parametrize(("fresh", "code"), [(True, 0), (False, 1)])
def test_labs_check_fails_when_a_practice_file_is_stale(
    fresh: bool,
    code: int,
    course: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And says which, and what to do."""
    monkeypatch.setattr(labs_command, "stale", lambda _: [])
    monkeypatch.setattr(labs_command, "labs", lambda _: [LAB.name])
    monkeypatch.setattr(labs_command, "lab_names", lambda _: (LAB.name,))
    make_practice(tmp_path)
    if not fresh:
        course(replace(LAB, **CHANGES["a source"]))
    assert labs_command.main(["check", "--course", str(tmp_path)]) == code
    said = capsys.readouterr().out
    assert ("lab09_small.zip is stale; run `make labs`" in said) != fresh


def test_a_missing_file_is_stale_and_a_broken_one_is_refused(course: Any, tmp_path: Path) -> None:
    assert not is_fresh(tmp_path, LAB.name)
    (tmp_path / f"{LAB.name}.zip").write_bytes(b"no zip")
    with pytest.raises(CourseError, match="is no practice file"):
        is_fresh(tmp_path, LAB.name)


def test_last_digits_of_another_machine_are_no_change(
    course: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference's float64 numbers may differ by their rounding."""
    make_practice(tmp_path)
    honest = practice.dump_traces
    moved = lambda traces: honest([shifted(trace, 1e-15) for trace in traces])  # noqa: E731
    monkeypatch.setattr(practice, "dump_traces", moved)
    assert is_fresh(tmp_path, LAB.name)
    moved_far = lambda traces: honest([shifted(trace, 1e-6) for trace in traces])  # noqa: E731
    monkeypatch.setattr(practice, "dump_traces", moved_far)
    assert not is_fresh(tmp_path, LAB.name)


ONE32 = 2.0**-23


@pytest.mark.parametrize(
    ("dtype", "numbers", "factor", "same"),
    [
        # A scenario that is in float32 itself: every processor adds up in an order of its own.
        ("float32", [0.5, 1.5, -1.75], 1 + ONE32, True),
        ("float32", [0.5, 1.5, -1.75], 1 + 16 * ONE32, False),
        ("float32", [2.0**-10, 1e6], 1 + ONE32, True),
        ("float32", [np.nan, np.inf, 1.5], 1 + ONE32, True),
        ("float16", [0.5, 1.5, -1.75], 1 + 2.0**-10, True),
        ("float16", [0.5, 1.5, -1.75], 1 + 2.0**-5, False),
        ("bfloat16", [0.5, 1.5, -1.75], 1 + 2.0**-7, True),
        ("bfloat16", [0.5, 1.5, -1.75], 1 + 2.0**-2, False),
        # The exact numbers of a float32 scenario, and those of float64, which float32 cannot hold.
        ("float32", [0.1, 1.5, -1.75], 1 + ONE32, False),
        ("float32", [0.1, 1.5, -1.75], 1 + 1e-12, True),
        ("float64", [0.5, 1.5, -1.75], 1 + ONE32, False),
        ("float64", [0.5, 1.5, -1.75], 1 + 1e-12, True),
        ("float64", [1e200, 0.5], 1 + 1e-12, True),
        ("int64", [1, 2], 1, True),
        ("int64", [1, 2], 2, False),
    ],
)
def test_a_number_may_differ_by_the_rounding_that_made_it(
    dtype: str, numbers: list[float], factor: float, same: bool
) -> None:
    """And by no more, so that the file made on one processor is fresh on another, and a change is one on both."""
    array = np.array(numbers)
    moved = array * factor
    if dtype == "float32" and 0.1 not in numbers:
        moved = moved.astype(np.float32)  # as a run in float32 shows it
    assert same_numbers(dump_traces([shown(dtype, array)]), dump_traces([shown(dtype, moved)])) is same


def test_numbers_of_another_dtype_or_shape_are_others() -> None:
    """However close they are."""
    one, two = np.array([0.5, 1.5]), np.array([[0.5, 1.5]])
    assert not same_numbers(dump_traces([shown("float32", one)]), dump_traces([shown("float64", one)]))
    assert not same_numbers(dump_traces([shown("float32", one)]), dump_traces([shown("float32", two)]))


def shown(dtype: str, array: Any) -> Trace:
    """A trace that shows one tensor."""
    return Trace("one", (Observation({"y": Tensor(dtype, np.asarray(array))}),))


def shifted(trace: Trace, by: float) -> Trace:
    """The trace with every number a little larger."""
    return replace(
        trace,
        observations=tuple(
            Observation(
                {
                    a: Tensor(v.dtype, np.asarray(v.array + by)) if isinstance(v, Tensor) else v
                    for a, v in o.seen.items()
                },
                o.failure,
            )
            for o in trace.observations
        ),
    )


def test_the_public_seed_is_not_one_that_grading_draws() -> None:
    """It stands in the code for everyone to read."""
    assert PRACTICE_SEED == practice.PRACTICE_SEED
    with zipfile.ZipFile(io.BytesIO(practice_bytes(LAB))) as archive:
        assert all(entry.date_time == practice.STAMP for entry in archive.infolist())
