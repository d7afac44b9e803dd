"""Run cells in one boxed kernel and print what came of them, as JSON (started by the fixture `hostile_notebook`)."""

import asyncio
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from autograder.kernel import launch
from autograder.kernel.client import KernelSession
from autograder.sandbox.box import Box
from autograder.sandbox.policy import Limits

boxes: list[Box] = []
ANSWERS = """
from ipykernel.kernelapp import IPKernelApp
def answer(text):
    IPKernelApp.instance().session.link.send("answer", {}, data=text.encode())
"""


async def run(cells: list[str], limits: Limits) -> list[dict[str, object]]:
    """Each cell after the other; "ask:" before a source asks it as our own code."""
    results = []
    async with KernelSession(limits) as session:
        boxes.append(session._box)
        for source in cells:
            if source.startswith("ask:"):
                source = ANSWERS + source[4:]
                answer = await session.ask("builtins:exec", source.encode(), wall_s=limits.wall_cell_s, max_bytes=10**6)
                text = (answer.data or b"").decode()
                result = {"status": answer.status, "reason": answer.reason, "wall_s": 0.0}
                result["error"] = asdict(answer.error) if answer.error else None
                result["outputs"] = [{"output_type": "stream", "text": text}]
            else:
                result = asdict(await session.run_cell(source))
            results.append({**result, "alive": session.alive})
    return results


order = json.load(sys.stdin)
os.environ["AUTOGRADER_KERNELS"] = order["rung"]
launch.PRELOAD = ("ipykernel.kernelapp",)  # a template is made for these cells alone, and few of them need torch
cells = asyncio.run(run(order["cells"], Limits(**order["limits"])))
# Not ru_maxrss: that is inherited from the process that started this one, and pytest may have been large.
status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
peak_mb = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
print(json.dumps({"cells": cells, "left": [str(box) for box in boxes if box.alive], "grader_mb": peak_mb}))
