"""What a cell printed and showed, gathered into nbformat v4 output dicts with a bound on its bytes.

Every field is rebuilt from checked values, so that whatever a kernel sends the result can be written as a notebook.
What is shown is still a student's HTML: to render it safely is the business of whoever renders it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MAX_OUTPUTS = 1000
TRACEBACK_BYTES = 20_000
ERROR_BYTES = 4_000
MIME = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,60}", re.IGNORECASE)
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])?")


@dataclass(frozen=True)
class CellError:
    """An exception of a cell; no field holds terminal escape codes, each is cut to a few kilobytes."""

    name: str
    value: str
    traceback: str


class Outputs:
    """Gathers the messages of one cell; `full` turns true, and no more is added, when they pass `max_bytes`.

    `displays` are those of the cells before, by their ids, since a cell may update them.
    """

    def __init__(self, max_bytes: int, displays: dict[str, dict[str, Any]] | None = None) -> None:
        self.full = False
        self.error: CellError | None = None
        self._left = max_bytes
        self._outputs: list[dict[str, Any]] = []
        self._by_display_id = {} if displays is None else displays
        self._clear_next = False

    def add(self, kind: str, content: dict[str, Any]) -> None:
        """Take one message of the iopub channel; kinds that are not outputs are ignored."""
        if kind == "clear_output":
            self._clear_next = content.get("wait") is True
            if not self._clear_next:
                self._outputs.clear()
        elif kind == "stream":
            self._add_stream(content)
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self._add_display(kind, content)
        elif kind == "error":
            self.set_error(content)
            self._append(_error_output(content))

    def set_error(self, content: dict[str, Any]) -> None:
        """Take the fields of an error message or of a failed reply as this cell's error."""
        lines = content.get("traceback")
        joined = "\n".join(text(line) for line in lines[:200]) if isinstance(lines, list) else ""
        self.error = CellError(
            name=plain(text(content.get("ename")), 200) or "Error",
            value=plain(text(content.get("evalue")), ERROR_BYTES),
            traceback=plain(joined, TRACEBACK_BYTES),
        )

    def notebook_outputs(self) -> tuple[dict[str, Any], ...]:
        """The outputs so far, as nbformat v4 dicts."""
        return tuple(
            {**output, "text": "".join(output["text"])} if output["output_type"] == "stream" else output
            for output in self._outputs
        )

    def _add_stream(self, content: dict[str, Any]) -> None:
        name = "stderr" if content.get("name") == "stderr" else "stdout"
        piece = self._take(text(content.get("text")))
        if not piece:
            return
        last = self._outputs[-1] if self._outputs and not self._clear_next else None
        if last and last["output_type"] == "stream" and last["name"] == name:
            last["text"].append(piece)
        else:
            # A list while it grows: joining strings again and again would cost a flood's length squared.
            self._append({"output_type": "stream", "name": name, "text": [piece]})

    def _add_display(self, kind: str, content: dict[str, Any]) -> None:
        given = content.get("data")
        data = {}
        for mime, value in given.items() if isinstance(given, dict) else ():
            if isinstance(mime, str) and MIME.fullmatch(mime) and isinstance(value, str):
                whole = text(value)
                if len(self._take(whole)) < len(whole):
                    return
                data[mime] = whole
        transient = content.get("transient")
        display_id = transient.get("display_id") if isinstance(transient, dict) else None
        if kind == "update_display_data":
            if isinstance(display_id, str) and display_id in self._by_display_id:
                self._by_display_id[display_id]["data"] = data
            return
        output: dict[str, Any] = {"output_type": kind, "data": data, "metadata": {}}
        if kind == "execute_result":
            count = content.get("execution_count")
            output["execution_count"] = count if type(count) is int and 0 <= count < 2**31 else None
        if isinstance(display_id, str):
            self._by_display_id[display_id] = output
        self._append(output)

    def _append(self, output: dict[str, Any]) -> None:
        if self._clear_next:
            self._clear_next = False
            self._outputs.clear()
        if len(self._outputs) >= MAX_OUTPUTS:
            self.full = True
        else:
            self._outputs.append(output)

    def _take(self, piece: str) -> str:
        """As much of `piece` as there is room for (its UTF-8 length counts)."""
        if self.full:
            return ""
        size = len(piece.encode())
        if size > self._left:
            self.full = True
            piece = piece.encode()[: self._left].decode("utf-8", "ignore")
        self._left -= min(size, self._left)
        return piece


def text(value: object) -> str:
    """`value` if it is text that can be written as UTF-8 (lone surrogates replaced), else the empty string."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def plain(value: str, max_bytes: int) -> str:
    """`value` without terminal escape codes, cut in the middle to about `max_bytes`."""
    # Cut first: the pattern's work then has a bound too.
    raw = value.encode()
    if len(raw) > 2 * max_bytes:
        raw = raw[:max_bytes] + b"\n[...]\n" + raw[-max_bytes:]
    clean = ANSI.sub("", raw.decode("utf-8", "ignore")).encode()
    if len(clean) > max_bytes:
        half = max_bytes // 2
        clean = clean[:half] + b"\n[...]\n" + clean[-half:]
    return clean.decode("utf-8", "ignore")


def _error_output(content: dict[str, Any]) -> dict[str, Any]:
    lines = content.get("traceback")
    kept, left = [], TRACEBACK_BYTES
    for line in lines[:200] if isinstance(lines, list) else ():
        line = text(line)[:left]
        left -= len(line)
        kept.append(line)
    return {
        "output_type": "error",
        "ename": plain(text(content.get("ename")), 200) or "Error",
        "evalue": plain(text(content.get("evalue")), ERROR_BYTES),
        "traceback": kept,
    }
