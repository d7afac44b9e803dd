"""The classes that the graders are measured on, and the asserts that stand for this course's checks in other graders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.filling import filled, grade_id
from autograder.grading.course import load_lab
from bench import limit
from bench.asserts import SET_UP, cells_of
from bench.limit import content, play
from bench.otter_grader import defined, questions_of, without_tests
from bench.stock import mean_of, with_asserts
from bench.submissions import KINDS, LABS, WRONG, Material, class_of, drawn, kinds, material

ROOT = Path(__file__).resolve().parents[2]
TOY = Material(
    {"a": "def a(): ...", "b": "def b(): ..."},
    {"why": "because"},
    {"a": ("def a(): return 1",), "b": ()},
    {"a": ("def a(): return 2",), "b": ("def b(): return 2",)},
)


def test_a_class_is_the_same_each_time_and_begins_with_the_smaller_one() -> None:
    assert drawn(TOY, 20, 1) == drawn(TOY, 20, 1)
    assert drawn(TOY, 20, 1)[:5] == drawn(TOY, 5, 1)
    assert drawn(TOY, 20, 1) != drawn(TOY, 20, 2)


def test_no_two_submissions_are_the_same() -> None:
    texts = {json.dumps(dict(s.cells)) for s in drawn(TOY, 200, 1)}
    assert len(texts) == 200


def test_a_few_have_the_shares_of_the_whole_class() -> None:
    few, whole = kinds(drawn(TOY, len(KINDS), 1)), kinds(drawn(TOY, 5 * len(KINDS), 1))
    assert few == {"right": 9, "one mistake": 6, "two mistakes": 3, "unwritten": 2}
    assert whole == {kind: 5 * count for kind, count in few.items()}


def test_right_submissions_hold_no_mistake_and_the_others_hold_as_many_as_they_say() -> None:
    for submission in drawn(TOY, 200, 1):
        wrong = sum("return 2" in text for text in submission.cells.values())
        assert wrong == WRONG[submission.kind]
        assert any("NotImplementedError" in text for text in submission.cells.values()) == (
            submission.kind == "unwritten"
        )


@pytest.mark.parametrize("lab", LABS.values())
def test_every_check_has_an_assert_cell_and_no_cell_is_of_no_check(lab: str) -> None:
    names = {check.name for check in load_lab(ROOT, lab).checks}
    assert set(cells_of(lab)) == {SET_UP, *names}
    graded = [cell for cell in with_asserts(ROOT, lab).cells if grade_id(cell) in names]
    assert len(graded) == len(names)
    assert not any("check(" in cell.source.split("\n")[0] and "autograder" in cell.source for cell in graded)


@pytest.mark.parametrize("lab", LABS.values())
def test_the_notebook_of_other_graders_has_nothing_of_this_package_in_it(lab: str) -> None:
    code = "\n".join(cell.source for cell in with_asserts(ROOT, lab).cells if cell.cell_type == "code")
    assert "autograder" not in code
    assert "load_digits" not in code  # the long experiments are nobody's to run


@pytest.mark.parametrize("lab", LABS.values())
def test_asserts_pass_for_right_answers_and_some_fail_for_wrong_ones(lab: str) -> None:
    notebook = with_asserts(ROOT, lab)
    tests = cells_of(lab).keys() - {SET_UP}
    seen = set()
    for submission in class_of(ROOT, lab, 4):
        names: dict[str, object] = {"__name__": "__main__"}
        failed = []
        for cell in filled(notebook, submission.cells).cells:
            if cell.cell_type != "code":
                continue
            try:
                exec(compile(cell.source, grade_id(cell), "exec"), names)
            except Exception as error:
                failed.append(f"{grade_id(cell)}: {error!r}")
        graded = [line for line in failed if line.partition(":")[0] in tests]
        seen.add(submission.kind)
        assert bool(graded) == (submission.kind != "right"), f"{submission.student}, {submission.kind}: {failed}"
    assert seen == {"right", "one mistake", "two mistakes"}


@pytest.mark.parametrize("lab", LABS.values())
def test_otters_test_files_run_on_what_a_student_defines(lab: str) -> None:
    files = questions_of(ROOT, lab)
    assert set(files) == {check.name for check in load_lab(ROOT, lab).checks}
    known = defined(material(ROOT, lab).solved.values())
    for name, text in files.items():
        compile(text, name, "exec")
        (head,) = [line for line in text.splitlines() if line.startswith("def test(")]
        assert any(word in head for word in known), f"{name} tests nothing of the student's: {head}"
    notebook = without_tests(with_asserts(ROOT, lab), lab)
    assert not {grade_id(cell) for cell in notebook.cells} & set(files)


def test_the_limit_counts_cells_and_probe_apart_and_asks_what_a_kernel_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What several checks ask alike once, and nothing that nobody looks at."""
    from autograder.grading.course import load_course_lab
    from autograder.grading.grade import prepare
    from autograder.grading.judge import Judge

    ran: list[Any] = []
    own = limit.run
    monkeypatch.setattr(limit, "run", lambda *given, looks: (ran.append((given[0], looks)), own(*given, looks=looks)))
    lab = load_course_lab(ROOT, LABS["lab1"])
    judge = Judge(lab.lab, 1)
    (submission,) = class_of(ROOT, LABS["lab1"], 1)
    raw = content(lab.release, submission)
    assert submission.student in raw.decode()
    cells_s, probe_s = play(prepare(raw, lab, judge).items, judge)
    assert cells_s > 0
    assert probe_s > 0
    firsts = [check for check in lab.lab.checks if lab.lab.alike(check)[0] is check]
    assert len(firsts) < len(lab.lab.checks)
    assert ran == [(judge.scenarios(check), judge.asking.looks(check)) for check in firsts]


def test_what_was_measured_twice_counts_as_its_mean() -> None:
    """And the start of stock's commands weighs once."""
    times = {"wall_s": 44.0, "cpu_s": 40.0, "autograde_s": 38.0, "feedback_s": 6.0}
    before = {"submissions": 10, "start_s": 4.0, "each_s": 4.0, "omp_num_threads": "1", **times}
    found = mean_of(before, {key: 1.5 * value for key, value in times.items()})
    assert found == {
        **before,
        "wall_s": 55.0,
        "cpu_s": 50.0,
        "autograde_s": 47.5,
        "feedback_s": 7.5,
        "each_s": 5.1,
        "walls_s": [44.0, 66.0],
    }
