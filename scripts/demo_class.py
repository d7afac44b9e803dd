"""The sample class of `make demo`: seventeen submissions of lab 1, and the checks that each must lose.

Every notebook is written from the release that students get, the reference solution, a variant or a mistake of the lab. Nothing of
it is graded here; `scripts/demo.py` sends it through the exchange and the grader, and compares.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.filling import filled, grade_id, is_answer
from autograder.authoring.release import instructor_notebook
from solutions.lab01_batch_norm.checks import LAB
from solutions.lab01_batch_norm.variants import VARIANTS

CELLS = {"BatchNorm1d": "solve-bn1d", "BatchNorm2d": "solve-bn2d", "batch_norm_backward": "solve-backward"}
ANSWER = (
    "In training mode every output depends on the other examples of the batch; in evaluation mode on none. "
    "With few values per channel the two differ most."
)

# The seeds' layer as a student would hand it in: (N, L, C) input, the other momentum, the biased running variance, no guards.
SEED_LAYER = """
import torch
from torch import nn


class BatchNorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.9, affine=True, track_running_stats=True):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.gamma = nn.Parameter(torch.ones(num_features))
        self.beta = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        if x.dim() == 3:
            n, length, c = x.shape
            return self.forward(x.reshape(-1, c)).reshape(n, length, c)
        if self.training:
            mean, var = x.mean(0), x.var(0, unbiased=False)
            with torch.no_grad():
                self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mean
                self.running_var = self.momentum * self.running_var + (1 - self.momentum) * var
        else:
            mean, var = self.running_mean, self.running_var
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta
"""

FORGERY = """
import IPython, json
from IPython.display import display, publish_display_data
import autograder.probe.serve as serve
publish_display_data({"text/plain": "4.0"})
serve.answer = lambda *a: b"passed"
print(4.0)
"""


@dataclass(frozen=True)
class Member:
    """One student: the file that is handed in, what is wrong with it in a few words, the checks that lose their points."""

    student: str
    story: str
    content: bytes
    loses: frozenset[str]


def checks_of(*exercises: str) -> frozenset[str]:
    """Return the names of all checks of some exercises."""
    return frozenset(check.name for check in LAB.checks if check.exercise in exercises)


EVERYTHING = frozenset(check.name for check in LAB.checks)


def members(course: Path) -> tuple[Member, ...]:
    """Return the class, made from the course's own release and solutions."""
    release = nbformat.read(course / "labs" / LAB.name / f"{LAB.name}.ipynb", as_version=4)
    solved = solved_notebook(release, course)

    def variant(name: str) -> NotebookNode:
        sources = next(v for v in VARIANTS if v.id == name).sources
        return filled(solved, {CELLS[key]: text for key, text in sources.items()})

    def mistake(name: str) -> NotebookNode:
        wrong = next(m for m in LAB.mistakes if m.id == name)
        return filled(solved, {CELLS[wrong.exercise]: wrong.source})

    def member(student: str, story: str, book: NotebookNode, loses: frozenset[str] = frozenset()) -> Member:
        return Member(student, story, json.dumps(book).encode(), loses)

    return (
        member("ada", "the reference's own way", solved),
        member("bela", "perfect, in an unusual style", variant(STYLES[0])),
        member("chen", "perfect, with a hand-written autograd function", variant(STYLES[1])),
        *(
            member(student, story, mistake(name), frozenset(loses))
            for student, (name, story, loses) in zip(("dana", "emil", "fay", "gus"), COMMON, strict=True)
        ),
        member("hana", "never opened", release, EVERYTHING),
        member("ivan", "BatchNorm2d left out", filled(solved, {CELLS["BatchNorm2d"]: None}), checks_of("BatchNorm2d")),
        member(
            "juno",
            "a syntax error in the backward pass",
            filled(
                solved,
                {CELLS["batch_norm_backward"]: "def batch_norm_backward(grad_out, x, weight, eps=1e-5:\n    pass"},
            ),
            checks_of("batch_norm_backward"),
        ),
        member(
            "kofi",
            "an endless loop in BatchNorm2d",
            filled(solved, {CELLS["BatchNorm2d"]: "while True:\n    pass\n"}),
            checks_of("BatchNorm2d"),
        ),
        member(
            "lena",
            "the kernel is ended by the student's code",
            filled(solved, {CELLS["batch_norm_backward"]: "import os\nos._exit(0)\n"}),
            checks_of("batch_norm_backward"),
        ),
        member(
            "milo",
            "a forged score",
            tampered(filled(solved, {CELLS["BatchNorm1d"]: FORGERY}), source="print(4.0)"),
            checks_of("BatchNorm1d") | checks_of("BatchNorm2d", "batch_norm_backward", "backward_steps"),
        ),
        member(
            "nora",
            "torch's own layer inside",
            filled(solved, {CELLS["BatchNorm1d"]: "class BatchNorm1d(torch.nn.BatchNorm1d):\n    pass\n"}),
            checks_of("BatchNorm1d"),
        ),
        Member("omar", "a truncated file", json.dumps(solved).encode()[:20_000], EVERYTHING),
        member("pia", "saved by Colab, with a copied test cell", copied(from_colab(solved), "bn1d-training")),
        member(
            "quin",
            "the seeds' own BatchNorm1D, written anew",
            filled(solved, {CELLS["BatchNorm1d"]: SEED_LAYER}),
            SEED_LOSES,
        ),
    )


STYLES = ("einops", "autograd-function")
COMMON: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("momentum-turned-round-1d", "momentum weighs the old value", ("bn1d-running", "bn1d-options")),
    ("biased-running-variance-1d", "the running variance is the biased one", ("bn1d-running",)),
    (
        "evaluation-uses-the-batch-1d",
        "evaluation still uses the batch",
        ("bn1d-evaluation", "bn1d-ncl", "bn1d-options", "bn1d-gradients", "bn1d-numerics"),
    ),
    ("backward-mean-term-dropped", "a term of the backward pass is missing", ("bnb-input", "bnb-numerics")),
)
SEED_LOSES = checks_of("BatchNorm1d")


def solved_notebook(release: NotebookNode, course: Path) -> NotebookNode:
    """Return the release with the lab's own solutions in the student's cells."""
    answers = nbformat.reads(instructor_notebook(course, LAB.name), as_version=4)
    sources = {grade_id(cell): cell.source for cell in answers.cells if is_answer(cell)}
    book = filled(release, sources)
    return filled(book, {"written-answer": ANSWER})


def edited(book: NotebookNode, change: Callable[[NotebookNode], Any]) -> NotebookNode:
    """Return a copy that a function has changed."""
    made = copy.deepcopy(book)
    change(made)
    return made


def tampered(book: NotebookNode, source: str) -> NotebookNode:
    """Return a copy whose test cells print a score, claim a hundred points and ask to be skipped."""

    def change(made: NotebookNode) -> None:
        for cell in made.cells:
            tags = cell.metadata.get("nbgrader", {})
            if tags.get("grade") and not tags.get("solution"):
                cell.source, cell.metadata["tags"] = source, ["skip-execution"]
                tags.update(points=100, locked=False)

    return edited(book, change)


def from_colab(book: NotebookNode) -> NotebookNode:
    """Return a copy as Colab saves it: its own metadata, no kernelspec language, no cell ids in nbformat 4.0."""

    def change(made: NotebookNode) -> None:
        made.metadata = {"colab": {"provenance": []}, "kernelspec": {"name": "python3", "display_name": "Python 3"}}
        made.nbformat_minor = 0
        for cell in made.cells:
            cell.pop("id", None)

    return edited(book, change)


def copied(book: NotebookNode, wanted: str) -> NotebookNode:
    """Return a copy in which one cell stands twice."""

    def change(made: NotebookNode) -> None:
        place = next(i for i, cell in enumerate(made.cells) if grade_id(cell) == wanted)
        made.cells.insert(place + 1, copy.deepcopy(made.cells[place]))

    return edited(book, change)
