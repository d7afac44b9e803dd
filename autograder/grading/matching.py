"""Which cell of our release a submitted cell is meant for, and which cells kept their place.

Names are tried first (nbgrader's grade id, then the notebook's own cell id, which in our releases is the same
word), then the very text: after a tool has thrown all names away, an untouched test cell is still known by
what it says. Nothing here trusts a name: a cell that claims to be the answer to an exercise *is* the
student's answer to it, whatever else its metadata claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from nbformat import NotebookNode

# solution: code the student writes; answer: text the student writes, graded by hand;
# check: a cell that is worth points and whose text never runs; given: everything else of ours.
Role = Literal["solution", "answer", "check", "given"]

MAX_KEPT = 8192  # characters of a cell whose plain text is kept for the next submission


@dataclass(frozen=True)
class Slot:
    """A cell of the release: what it is for, and its grade id where it has one."""

    role: Role
    cell: NotebookNode
    grade_id: str | None

    @property
    def name(self) -> str:
        """The word by which a note calls it."""
        return self.grade_id or str(self.cell.get("id", "without a name"))


def slot_of(cell: NotebookNode) -> Slot:
    """Read the role of a cell of ours from its nbgrader metadata."""
    tags = cell["metadata"].get("nbgrader", {})  # by item: a notebook node looks for attributes in a roundabout way
    role: Role = "given"
    if tags.get("task"):
        role = "answer"
    elif tags.get("solution"):
        role = "solution" if cell["cell_type"] == "code" else "answer"
    elif tags.get("grade"):
        role = "check"
    return Slot(role, cell, tags.get("grade_id"))


def owners(slots: Sequence[Slot], cells: Sequence[NotebookNode]) -> Iterator[int | None]:
    """Yield, for each submitted cell, the index of the slot it is meant for, or None for the student's own."""
    by_grade_id = {slot.grade_id: index for index, slot in enumerate(slots) if slot.grade_id}
    by_id = {slot.cell["id"]: index for index, slot in enumerate(slots) if "id" in slot.cell}
    said = [text_of(slot.cell) for slot in slots]
    texts, by_text = Counter(said), {text: index for index, text in enumerate(said)}
    for cell in cells:
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id")
        text = text_of(cell)
        known = by_text.get(text) if text[1] and texts[text] == 1 else None
        yield by_grade_id.get(grade_id, by_id.get(cell.get("id"), known))


def steady(slots: Sequence[Slot], visited: Sequence[int]) -> set[int]:
    """Return the slots that kept their order: the heaviest increasing subsequence of the slots as visited.

    An answer weighs more than all the text around it, so that a test cell dragged above its exercise is what
    moved, not the exercise.
    """
    order = list(dict.fromkeys(visited))
    if order == sorted(order):
        return set(order)
    weight = [len(slots) if slots[slot].role == "solution" else 1 for slot in order]
    best = list(weight)
    before: list[int | None] = [None] * len(order)
    for i in range(len(order)):
        for j in range(i):
            if order[j] < order[i] and best[j] + weight[i] > best[i]:
                best[i], before[i] = best[j] + weight[i], j
    kept: set[int] = set()
    step = max(range(len(order)), key=best.__getitem__, default=None)
    while step is not None:
        kept.add(order[step])
        step = before[step]
    return kept


def text_of(cell: NotebookNode) -> tuple[str, str]:
    """A cell's type and its text, blind to line ends and to blanks at the end of a line."""
    # Most cells of a class are our own, word for word; what is long is one student's, and not kept.
    source = cell["source"]
    plain = _plain if len(source) <= MAX_KEPT else _plain.__wrapped__
    return str(cell["cell_type"]), plain(source)


@lru_cache(maxsize=2048)
def _plain(source: str) -> str:
    lines = source.replace("\r\n", "\n").strip().split("\n")
    return "\n".join(line.rstrip() for line in lines)


def same(one: NotebookNode, other: NotebookNode) -> bool:
    """Whether two cells say the same."""
    return text_of(one) == text_of(other)
