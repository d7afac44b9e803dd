"""How well the diagnosis recognizes mistakes in other people's handwriting: `python -m bench.diagnosis [LAB ...] [--every K]`.

Each named mistake is rewritten in the style of each variant of its lab, by the lines in which the variant differs from the plain
solution, and in three styles that fit any source. Then mistakes are put together, two into one source. For each outcome that
still fails a check: did the grader name the right mistake, a wrong one, or none? A name is right as well when nothing in
the checks tells the two mistakes apart. `--every K` takes every K-th case; what was left out is said.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from autograder.authoring.restyle import STYLES
from autograder.authoring.survey import exercise_of, shown, variants_of
from autograder.checks.check import Check, Mistake
from autograder.checks.compose import hunks, restyled
from autograder.checks.diagnose import alike
from autograder.errors import CourseError
from autograder.grading.course import find_course, lab_names, load_lab
from autograder.grading.judge import Judge, namespace
from autograder.probe.run import run
from autograder.trace.trace import Trace

SEED = 1
PAIRS = 400  # of each lab, before `--every` thins them out
BROKEN = "broken"  # the text that came out is no solution at all
STYLE_WORDS = ("right", "wrong", "silent", "passes")
PAIR_WORDS = ("both", "one", "wrong", "silent", "passes")


class Bench:
    """One lab with its judge and its plain sources."""

    def __init__(self, name: str) -> None:
        course = find_course()
        self.lab, self.variants = load_lab(course, name), variants_of(course, name)
        self.judge = Judge(self.lab, SEED)
        self.plain: Mapping[str, str] = importlib.import_module(f"solutions.{name}.plain").PLAIN

    def styled(self) -> Iterator[tuple[Mistake, str]]:
        """Yield each mistake in each style that it can be written in."""
        for mistake in self.lab.mistakes:
            plain = self.plain.get(mistake.exercise)
            for variant in self.variants:
                other = variant.sources.get(mistake.exercise)
                made = None if plain is None or other is None else restyled(mistake.source, hunks(plain, other))
                if made is not None:
                    yield mistake, made
            yield from ((mistake, style(mistake.source)) for style in STYLES.values())

    def pairs(self) -> Iterator[tuple[Mistake, Mistake, str]]:
        """Yield mistakes of one exercise, two in one source, where the edits of both fit."""
        drawn = random.Random(SEED)
        by_exercise = [[m for m in self.lab.mistakes if m.exercise == name] for name in self.lab.contract]
        for _ in range(PAIRS):
            mistakes = drawn.choice([group for group in by_exercise if len(group) > 1])
            a, b = drawn.sample(mistakes, 2)
            plain = self.plain.get(a.exercise, "")
            made = restyled(a.source, hunks(plain, b.source), all_of_them=True)
            if made is not None:
                yield a, b, made

    def told(self, source: str, checks: Sequence[Check]) -> dict[str, list[str]] | None:
        """Return the names that each failed check gets, or None when the source does not even run."""
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                names = namespace(source, "bench")
                given = {check.name: run(self.judge.scenarios(check), names) for check in checks}
                failed = [check for check in checks if not self.judge.verdict(check, given[check.name]).passed]
                return {check.name: [d.id for d in self.judge.diagnoses(check, given)] for check in failed}
        except CourseError:
            return None

    def same(self, mistake: Mistake, name: str, check: Check) -> bool:
        """Tell whether a name stands for a mistake, or for one that shows the same in a check."""
        if name == mistake.id:
            return True
        other = next(m for m in self.lab.mistakes if m.id == name)
        pairs: Iterator[tuple[Trace, Trace]] = zip(
            shown(self.judge, mistake, check), shown(self.judge, other, check), strict=True
        )
        expected = self.judge.expected(check)
        return all(alike(check, e, a, b) for e, (a, b) in zip(expected, pairs, strict=True))

    def crashes(self, mistake: Mistake, source: str, check: Check) -> bool:
        """Tell whether a rewritten source raises something where the mistake does not: then the rewriting made no sense."""
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                given = run(self.judge.scenarios(check), namespace(source, "bench"))
        except CourseError:
            return True
        pairs = zip(shown(self.judge, mistake, check), given, strict=True)
        return any(now.failure is not None and before.failure is None for before, now in pairs)

    def style(self, mistake: Mistake, source: str) -> str:
        """Return how a mistake in another style is named by the check made for it."""
        check = self.lab.check(mistake.check)
        if self.crashes(mistake, source, check):
            return BROKEN
        told = self.told(source, (check,))
        if not told:
            return BROKEN if told is None else "passes"
        names = told[check.name]
        if not names:
            return "silent"
        return "right" if all(self.same(mistake, name, check) for name in names) else "wrong"

    def pair(self, a: Mistake, b: Mistake, source: str) -> str:
        """Return how two mistakes in one source are named by the checks of their exercise."""
        told = self.told(source, exercise_of(self.lab, a.exercise))
        if not told:
            return BROKEN if told is None else "passes"
        found = {(name, check) for check, names in told.items() for name in names}
        right = [{m.id for m in (a, b) if self.same(m, name, self.lab.check(check))} for name, check in found]
        if not found:
            return "silent"
        if not all(right):
            return "wrong"
        return "both" if len(set().union(*right)) == 2 else "one"


def table(title: str, words: Sequence[str], rows: Mapping[str, Counter[str]]) -> str:
    """Return a Markdown table of counts."""
    lines = [f"| {title} | tried | {' | '.join(words)} |", f"| --- |{' ---: |' * (len(words) + 1)}"]
    for name, counts in rows.items():
        tried = sum(counts[word] for word in words)
        cells = [f"{counts[word]} ({100 * counts[word] / max(tried, 1):.1f} %)" for word in words]
        lines.append(f"| {name} | {tried} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description="Measure the diagnosis on mistakes in other styles, and on two at once."
    )
    parser.add_argument("lab", nargs="*", help="which labs (all)")
    parser.add_argument("--every", type=int, default=8, metavar="K", help="take every K-th case (8); 1 takes all")
    given = parser.parse_args(argv)
    styles: dict[str, Counter[str]] = {}
    pairs: dict[str, Counter[str]] = {}
    for name in given.lab or lab_names(find_course()):
        bench = Bench(name)
        styled = list(itertools.islice(bench.styled(), 0, None, given.every))
        styles[name] = Counter(bench.style(*case) for case in styled)
        pairs[name] = Counter(bench.pair(*case) for case in itertools.islice(bench.pairs(), 0, None, given.every))
        print(f"{name}: done", file=sys.stderr)
    print(f"One case in {given.every} was tried. `passes` are those that the rewriting has mended.")
    broken = sum(counts[BROKEN] for rows in (styles, pairs) for counts in rows.values())
    print(
        f"{broken} rewritten texts were no solutions any more, raised something new everywhere, and are not counted.\n"
    )
    print(table("one mistake in other styles", STYLE_WORDS, styles), "\n")
    print(table("two mistakes at once", PAIR_WORDS, pairs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
