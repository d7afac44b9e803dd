"""Lint rules about what a lab knows: mistakes belong to checks, variants define every name, linked pages exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from autograder.authoring.material import Material
from autograder.authoring.pages import page_fault, sections
from autograder.authoring.wording import defined, task_text


def mistakes_are_sound(m: Material) -> Iterator[str]:
    """Yield mistakes that name no check of their exercise, ids that are taken, and checks of the contract without a mistake."""
    where = f"the mistakes of {m.folder}"
    yield from _contract(m)
    for ident, count in Counter(mistake.id for mistake in m.lab.mistakes).items():
        if count > 1:
            yield f"{where}: {count} have the id {ident!r}; a diagnosis must mean one of them, so rename the others."
    exercises = {check.name: check.exercise for check in m.lab.checks}
    # Also those that count in the notebook alone, where they stand for a name of the contract.
    contract = {check.name for check in m.lab.checks if check.contract or check.exercise in m.lab.contract}
    for mistake in m.lab.mistakes:
        own = [name for name in contract if exercises[name] == mistake.exercise]
        choice = f"take one of: {', '.join(sorted(own))}" if own else "no check of the contract grades that exercise"
        if mistake.check not in exercises:
            yield f"{where}: {mistake.id!r} is made for the check {mistake.check!r}, which the lab does not have; {choice}."
        elif exercises[mistake.check] != mistake.exercise:
            wrong = f"{mistake.id!r} spoils {mistake.exercise}, and its check {mistake.check!r} grades {exercises[mistake.check]}"
            yield f"{where}: {wrong}; {choice}."
        elif mistake.check not in contract:
            yield f"{where}: {mistake.id!r} is made for {mistake.check!r}, which is not of the contract; {choice}."
        yield from (f"{where}: {mistake.id!r} {fault}." for fault in _undefined(mistake.source, mistake.exercise))
    for name in sorted(contract - {mistake.check for mistake in m.lab.mistakes}):
        yield f"{where}: none is made for the check {name!r}; write one that only this check catches."


def _contract(m: Material) -> Iterator[str]:
    """Yield names of the contract that nothing grades, and checks of the contract whose exercise is not in it."""
    graded = {check.exercise for check in m.lab.checks if check.contract}
    for name in m.lab.contract:
        if name not in graded:
            yield f"{m.folder}/checks.py: no check grades {name}, a name of the contract; write one or take the name out."
    for check in m.lab.checks:
        if check.contract and check.exercise not in m.lab.contract:
            wrong = f"the check {check.name!r} grades {check.exercise}, which is not in LAB.contract"
            yield f"{m.folder}/checks.py: {wrong}; add the name, or say contract=False."


def variants_are_whole(m: Material) -> Iterator[str]:
    """Yield variants that leave out a name of the contract, and ids that are taken."""
    where = f"{m.folder}/variants.py"
    if m.variants is None:
        return
    if not m.variants:
        yield f"{where}: there is no variant; write some honest solutions in other styles, which the checks must let pass."
    for ident, count in Counter(variant.id for variant in m.variants).items():
        if count > 1:
            yield f"{where}: {count} variants have the id {ident!r}; rename all but one."
    for variant in m.variants:
        missing = [name for name in m.lab.contract if name not in variant.sources]
        odd = [name for name in variant.sources if name not in m.lab.contract]
        if missing:
            yield f"{where}: {variant.id!r} lacks {', '.join(missing)}; a variant defines every name of the contract."
        if odd:
            yield f"{where}: {variant.id!r} has a source for {', '.join(odd)}, not a name of the contract; take it out."
        for name, source in variant.sources.items():
            yield from (f"{where}: {variant.id!r} {fault}." for fault in _undefined(source, name))


def _undefined(source: str, name: str) -> Iterator[str]:
    """Yield what keeps a source from defining a name at its top level."""
    names = defined(source)
    if names is None:
        yield f"has a source for {name} that is no Python; mend it"
    elif name not in names:
        yield f"has a source for {name} that does not define {name}; write it there"


def pages_exist(m: Material) -> Iterator[str]:
    """Yield pages of mistakes, and links of the text, that lead nowhere."""
    faults: dict[str, list[str]] = {}
    for mistake in m.lab.mistakes:
        if fault := page_fault(m.course, mistake.page):
            faults.setdefault(fault, []).append(mistake.id)
    for fault, idents in faults.items():
        others = f" and {len(idents) - 1} more link" if len(idents) > 1 else " links"
        yield f"the mistakes of {m.folder}: {idents[0]!r}{others} to a page that is not there: {fault}."
    for link, section in re.findall(r"\]\(([^)#:\s]+)(?:#([^)\s]*))?\)", task_text(m.source)):
        page = m.course / "labs" / m.lab.name / link
        if not page.exists():
            yield f"{m.folder}/notebook.py: the link to {link!r} leads nowhere from labs/{m.lab.name}/; correct it."
        elif section and page.suffix == ".md" and section not in sections(page.read_text(encoding="utf-8")):
            yield f"{m.folder}/notebook.py: the link to {link!r} names the section {section!r}, which is not there; correct it."
