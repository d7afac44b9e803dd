"""Lint rules about a lab's text and cells: each check has its cell, points add up, what is graded is said.

The author's notebook is read, not the released one, so that a finding is there before `make labs` is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from autograder.authoring import wording
from autograder.authoring.material import Material

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def names_are_free(m: Material) -> Iterator[str]:
    """Yield check names that are taken, in this lab or another: `check("name")` has to know which lab is meant."""
    where = f"{m.folder}/checks.py"
    for name, count in Counter(check.name for check in m.lab.checks).items():
        if count > 1:
            yield f"{where}: {count} checks are named {name!r}; rename all but one."
        if name in m.taken:
            yield f"{where}: the check {name!r} is also one of {m.taken[name]}; give it another name, with this lab's prefix."
        if not NAME.fullmatch(name):
            yield f"{where}: {name!r} is no name for a check; use small letters, digits and hyphens."


def cells_and_checks_pair(m: Material) -> Iterator[str]:
    """Yield graded cells without a check, checks without a cell, and cells that do anything but call their check."""
    where = f"{m.folder}/notebook.py"
    cells = wording.graded(m.source)
    by_machine = {name: cell for name, cell in cells.items() if cell.cell_type == "code"}
    for name, cell in by_machine.items():
        if name not in m.lab.names:
            yield f"{where}: the graded cell {name!r} has no check; add one to checks.py or take its points away."
        if cell.source != f'check("{name}")':
            yield f'{where}: the graded cell {name!r} must be check("{name}") and no more; move the rest to another cell.'
        if not wording.grading(cell).get("locked") or wording.grading(cell).get("solution"):
            yield f"{where}: the graded cell {name!r} is not locked, or a solution; set locked to true and solution to false."
    for check in m.lab.checks:
        if check.name not in by_machine:
            yield f"{where}: the check {check.name!r} has no graded cell; add one with this grade_id."
    for name, cell in cells.items():
        if cell.cell_type != "code" and name in m.lab.names:
            yield f"{where}: {name!r} is a check and a cell that a person grades; make it a code cell."
    checks = list(dict.fromkeys(check.name for check in m.lab.checks if check.name in by_machine))
    order = [name for name in by_machine if name in checks]
    if checks != order:
        first = next(a for a, b in zip(checks, order, strict=True) if a != b)
        yield f"{where}: the graded cells do not stand in the order of LAB.checks, from {first!r} on; put both in one order."
    for cell in m.source.cells:
        for name in re.findall(r"\bcheck\(\"([^\".]+)\"\)", cell.source):
            if name not in m.lab.names:
                yield f'{where}: check("{name}") is written in the cell {cell.id!r}, and no check has that name; correct it.'
    yield from _targets_are_asked_for(m)


def _targets_are_asked_for(m: Material) -> Iterator[str]:
    """Yield names that checks run and that no solution cell defines, or that the reference lacks."""
    solutions = [c.source for c in m.source.cells if wording.grading(c).get("solution") and c.cell_type == "code"]
    written = frozenset[str]().union(*(wording.defined(source) or () for source in solutions))
    for target, check in m.targets.items():
        if target not in m.lab.reference:
            yield f"{m.folder}/checks.py: {check!r} runs {target}, and LAB.reference has no such name; add it."
        if target not in written:
            yield f"{m.folder}/notebook.py: {check!r} runs {target}, which no solution cell defines; add it to a solution."


def points_add_up(m: Material) -> Iterator[str]:
    """Yield sums that differ: of the checks, the cells, the headings, the bold labels, the line at the top."""
    where = f"{m.folder}/notebook.py"
    cells = {name: wording.points(cell) for name, cell in wording.graded(m.source).items()}
    for check in m.lab.checks:
        if check.points <= 0:
            yield f"{m.folder}/checks.py: the check {check.name!r} is worth {check.points:g} points; give it more than 0."
        if check.name in cells and cells[check.name] != check.points:
            yield f"{where}: the cell {check.name!r} has {cells[check.name]:g} points, its check {check.points:g}; make them equal."
    machine = sum(points for name, points in cells.items() if name in m.lab.names)
    person = sum(cells.values()) - machine
    stated, due = wording.total(wording.task_text(m.source)), (machine + person, machine, person)
    if stated is None:
        yield f'{where}: the text does not state the points of the lab; write a line "{wording.TOTAL_FORM}".'
    elif stated != due:
        said, true = (" = ".join([f"{a:g}", f"{b:g} + {c:g}"]) for a, b, c in (stated, due))
        yield f"{where}: the text states {said} points (machine and person), the cells give {true}; correct one of them."
    for section in wording.sections(m.source):
        given = tuple(cells[name] for name in section.cells)
        if section.stated and sum(section.stated) != sum(given):
            said, true = f"{sum(section.stated):g}", f"{sum(given):g}"
            yield f"{where}: the heading {section.title!r} states {said} points, its cells give {true}; correct it."
        elif len(section.stated) > 1 and section.stated != given:
            true = " + ".join(f"{number:g}" for number in given)
            yield f"{where}: the heading {section.title!r} adds up other points than its cells, {true}; correct it."
        if section.level == 0 and section.cells:
            listed = ", ".join(section.cells)
            yield f'{where}: no heading states the points of {listed}; add "(N points)" to the one above.'
    for text, labels, run in wording.labels(m.source):
        if labels != [cells[name] for name in run]:
            said, true = (" + ".join(f"{n:g}" for n in numbers) for numbers in (labels, [cells[name] for name in run]))
            yield f'{where}: "{text}" states {said} points, the cells after it give {true or 0}; correct it.'


def text_says_it(m: Material) -> Iterator[str]:
    """Yield behaviours and signatures that the text of the lab does not state: a student can only be graded on what was said."""
    text, patterns, where = wording.task_text(m.source), f"{m.folder}/behaviours.py", f"{m.folder}/notebook.py"
    if m.behaviours is not None and not m.behaviours:
        yield f"{patterns}: BEHAVIOURS is empty; list each thing that may cost points."
    for behaviour, pattern in (m.behaviours or {}).items():
        try:
            expression = re.compile(pattern, flags=re.DOTALL)
        except re.error as error:
            yield f"{patterns}: the pattern of {behaviour!r} is no regular expression ({error}); mend it."
            continue
        if expression.search(""):
            yield f"{patterns}: the pattern of {behaviour!r} fits an empty text too; quote words of the task."
        elif not expression.search(text):
            yield f"{where}: the text does not say {behaviour!r} (no match for {pattern!r}); write it, or mend the pattern."
    for target, check in m.targets.items():
        wanted = wording.signature(m.lab.reference.get(target))
        if wanted is None:
            if f"`{target}`" not in text:
                yield f"{where}: {check!r} asks for {target}, and the text never names `{target}`; say what it is."
            continue
        given = list(wording.signatures(text, target))
        if wanted not in given:
            instead = f"it has {target}({', '.join(given[0])})" if given else "it has none"
            lacking = f"the text does not state the signature {target}({', '.join(wanted)})"
            yield f"{where}: {lacking}; {instead}; write it."
