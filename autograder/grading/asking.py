"""What is asked of every submission of a class: scenarios with their numbers, and where is looked in what they show.

Checks whose scenarios one function draws ask the same of a submission, and each looks at its part of the answer. Here they are one
question, under the name of the first of them: its numbers are drawn once, and its scenarios are run once, by a kernel, by the
reference, by a mistake. What it is not: a verdict; that is the judge's.
"""

from __future__ import annotations

from autograder.checks.check import Check, Draw, Lab
from autograder.probe.serve import question
from autograder.trace.look import Look
from autograder.trace.scenario import Scenario


class Asking:
    """The questions of one lab with one seed; each is made when it is first asked for, and kept."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab, self.seed = lab, seed
        self._scenarios: dict[str, tuple[Scenario, ...]] = {}
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._looks: dict[str, tuple[Look, ...]] = {}
        self._questions: dict[str, bytes] = {}

    def name(self, check: Check) -> str:
        """Return the name of a check's question, which checks that ask alike share."""
        return self.lab.alike(check)[0].name

    def scenarios(self, check: Check) -> tuple[Scenario, ...]:
        """Return the scenarios of a check, drawn from the seed."""
        name = self.name(check)
        if name not in self._scenarios:
            self._scenarios[name] = check.scenarios(Draw(self.seed, name))
        return self._scenarios[name]

    def sizes(self, check: Check) -> tuple[int, ...]:
        """Return how much there is to read in each scenario of a check."""
        name = self.name(check)
        if name not in self._sizes:
            self._sizes[name] = tuple(scenario.size for scenario in self.scenarios(check))
        return self._sizes[name]

    def looks(self, check: Check) -> tuple[Look, ...]:
        """Return where is looked in each scenario of a check, by any of the checks that ask alike."""
        name = self.name(check)
        if name not in self._looks:
            keys = tuple(dict.fromkeys(key for other in self.lab.alike(check) for key in other.keys))
            looks = {scenario.only: Look(keys, scenario.only) for scenario in self.scenarios(check)}
            self._looks[name] = tuple(looks[scenario.only] for scenario in self.scenarios(check))
        return self._looks[name]

    def question(self, check: Check) -> bytes:
        """Return the scenarios of a check as a kernel is sent them, and what is looked at: the same for a whole class."""
        name = self.name(check)
        if name not in self._questions:
            self._questions[name] = question(self.scenarios(check), self.looks(check))
        return self._questions[name]
