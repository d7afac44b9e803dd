"""The trial that every way of boxing must stand before student code runs in it: a real process in it tries to get out.

What it tries is in attempts.py. Used by the doctor for a box of its own and, at each start, for a fork of the template.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import autograder
from autograder.sandbox.end import End
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_fork
from autograder.sandbox.view import view
from autograder.sandbox.warm import Template

TRIAL = Limits(cpu_s=30, wall_notebook_s=30, memory_mb=256)

LOOK = """
import importlib.machinery, sys
for name in sys.argv[1:]:
    path, parts = None, name.split(".")
    for number in range(len(parts)):
        found = importlib.machinery.PathFinder.find_spec(".".join(parts[: number + 1]), path)
        if found is None:
            sys.exit(f"No module named {name!r}")
        path = found.submodule_search_locations
    open(found.origin, "rb").close()
print("here")
"""
"""Looks for modules without importing what they lie in, which takes half a second for matplotlib's."""


def escapes(run: Callable[[str, Sequence[str]], End]) -> list[str]:
    """Return what the trial managed to do, in words; `run` starts a Python program with arguments in the box in question."""
    source = Path(__file__).with_name("attempts.py").read_text()
    hidden = ["/etc/passwd", "/etc/shadow", "/home", "/var", "/run"]
    home, course = os.path.expanduser("~"), Path(autograder.__file__).parent / "grading"
    # A home or a course may lie above the Python that the box needs; then the folder is there, but empty beside it.
    hidden += [os.path.join(home, ".ssh"), os.path.join(home, ".bashrc"), str(course)]
    with _listeners() as (port, abstract):
        end = run(source, [str(port), abstract, *(path for path in hidden if os.path.exists(path))])
    last = end.tail.strip().splitlines()[-1:] or ["nothing"]
    try:
        done = [str(what) for what in json.loads(last[0])]
    except (ValueError, TypeError):
        return [f"broke the trial off: {end.sentence(TRIAL)} {end.tail.strip()[-300:]}"]
    # A home that the view must show for the sake of the interpreter in it is not an escape.
    shown = {str(Path(place).parents[-2]) for _, place in view().binds}
    return [what for what in done if what.removeprefix("saw ") not in shown]


def escapes_of_a_fork(template: Template) -> list[str]:
    """Return what a fork of the template managed to do."""

    return escapes(lambda source, arguments: _fork(template, source, arguments)())


def missing_in_a_fork(template: Template, modules: Sequence[str]) -> Callable[[], str]:
    """Have a fork look for modules that the template has not imported: its view may lack their files.

    What is returned waits for it, and returns why one cannot be had, or nothing.
    """
    ended = _fork(template, LOOK, modules)

    def why() -> str:
        end = ended()
        return "" if end.tail.endswith("here\n") else end.tail.strip()[-500:] or end.sentence(TRIAL)

    return why


def _fork(template: Template, source: str, arguments: Sequence[str]) -> Callable[[], End]:
    given: dict[str, object] = {"connection": None, "source": source, "arguments": list(arguments), "files": {}}
    box = start_fork(template, RunFolder(within=template.folder), TRIAL, given)
    return lambda: box.result().ended.result(timeout=60)


@contextmanager
def _listeners() -> Iterator[tuple[int, str]]:
    name = "autograder-trial-" + secrets.token_hex(4)
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind("\0" + name)
        unix.listen()
        yield tcp.getsockname()[1], name
