"""What may stand in a graded notebook: harmless outputs of the student's, and exactly one scoring output for each check.

nbgrader reads a score from a cell's outputs: an error is zero, a float is that many points, nothing is full marks. Its formgrader
shows outputs as they are, so of the student's only text and pictures are kept: no HTML, no scripts, no SVG, no widgets.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from autograder.grading.reading import node
from autograder.grading.report import CheckResult

if TYPE_CHECKING:
    from nbformat import NotebookNode

MAX_TEXT = 20_000  # characters of one output
MAX_PICTURE = 2_000_000  # bytes of one picture, base64
MAX_OUTPUTS = 50
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def safe(outputs: Iterable[Mapping[str, Any]]) -> list[NotebookNode]:
    """Return the outputs with everything left out that a browser would run or that is too large."""
    return [clean for output in list(outputs)[:MAX_OUTPUTS] if (clean := _safe(output)) is not None]


def _safe(output: Mapping[str, Any]) -> NotebookNode | None:
    match output.get("output_type"):
        case "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            return _output("stream", name=name, text=plain(output.get("text")))
        case "error":
            lines = output.get("traceback")
            text = "\n".join(map(str, lines)) if isinstance(lines, list) else ""
            name, value = plain(output.get("ename")), plain(output.get("evalue"))
            return _output("error", ename=name, evalue=value, traceback=plain(text).split("\n"))
        case "display_data" | "execute_result":
            data = output.get("data")
            bundle = _bundle(data) if isinstance(data, Mapping) else {}
            return _output("display_data", data=bundle) if bundle else None
    return None


def _bundle(data: Mapping[str, Any]) -> dict[str, str]:
    bundle = {kind: data[kind] for kind, magic in PICTURES.items() if _is_picture(data.get(kind), magic)}
    if "text/plain" in data:
        bundle["text/plain"] = plain(data["text/plain"])
    return bundle


def _is_picture(given: object, magic: bytes) -> bool:
    if not isinstance(given, str) or len(given) > MAX_PICTURE:
        return False
    try:
        return base64.b64decode("".join(given.split()), validate=True).startswith(magic)
    except (binascii.Error, ValueError):
        return False


def plain(given: object) -> str:
    """Return text without terminal escapes and control characters, cut to a bearable length."""
    text = "".join(map(str, given)) if isinstance(given, list) else str(given if given is not None else "")
    text = ESCAPES.sub("", text).encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + f"\n... ({len(text) - MAX_TEXT} more characters)"


def notice(sentence: str) -> NotebookNode:
    """Return a sentence of the grader's as an output, for a cell that was stopped."""
    return _output("stream", name="stdout", text=f"[grader] {sentence}\n")


def scoring(result: CheckResult) -> list[NotebookNode]:
    """Return the outputs of a graded cell: the reasons for a person, and the one output that nbgrader reads."""
    reasons = _output("display_data", data={"text/plain": reasons_text(result)})
    if result.points >= result.max_points:
        return [reasons]
    if result.points > 0 and math.isfinite(result.points):
        score = _output("execute_result", data={"text/plain": repr(float(result.points))}, execution_count=None)
        return [reasons, score]
    return [
        reasons,
        _output("error", ename="NotPassed", evalue=result.message, traceback=[f"{result.name}: {result.message}"]),
    ]


def reasons_text(result: CheckResult) -> str:
    """Return the verdict of a check as a few lines of text."""
    lines = [f"{'passed' if result.passed else 'not passed'}: {result.exercise}, {result.title}"]
    if not result.passed:
        lines.append(result.message)
        if result.diagnosis is not None:
            lines.append(f"This looks like: {result.diagnosis.title}")
            lines.append(f"Think about it: {result.diagnosis.hint}")
            lines.append(f"Read: {result.diagnosis.page}")
            lines += [f"And there is another one: {other.title}. {other.hint}" for other in result.also]
        if result.code:
            lines += ["The smallest call that shows it:", *("    " + line for line in result.code.split("\n"))]
    return "\n".join(lines)


def _output(kind: str, **fields: Any) -> NotebookNode:
    """Return an output in the order of nbformat's `new_output`, which asks a schema about each: 34 times for each submission."""
    shown: dict[str, Any] = {"metadata": {}} if "data" in fields else {}
    return node({"output_type": kind, **shown, **fields})
