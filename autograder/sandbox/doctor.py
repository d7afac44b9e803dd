"""`autograder doctor`: what this machine can do for the sandbox, tried and not guessed, and the remedies.

It starts real boxes: one that tries to escape, one that eats memory, and a kernel that imports torch.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from autograder.errors import SandboxError
from autograder.sandbox import bwrap, seccomp
from autograder.sandbox.end import End
from autograder.sandbox.escapes import TRIAL, escapes, escapes_of_a_fork
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.groups import groups, why_none
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import POLL_S, Limits
from autograder.sandbox.remedies import AN_ESCAPE, ASK_DOCTOR, NO_LINUX, readable, remedy_for
from autograder.sandbox.start import start_box
from autograder.sandbox.view import view
from autograder.sandbox.warm import Template

OK, UNAVAILABLE = 0, 3


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it is as it must be, what was seen, and what to do where it is not."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def findings() -> tuple[Finding, ...]:
    """Look at everything; the sandbox works when all are ok. Takes about two seconds."""
    found = [_system()]
    if found[0].ok:
        found += [_tried("bubblewrap", _bubblewrap), _tried("filter of system calls", _filter)]
        if all(finding.ok for finding in found):
            found.append(_tried("a process in a box", _boxed_python))
        if all(finding.ok for finding in found):
            found.append(_tried("ways out of the box", _escape))
            found += [_tried("limit on memory", _memory), _tried("control groups", _groups)]
            found.append(_tried("packages in the box", _packages))
            found.append(_warm())
    return tuple(found)


def sandbox_works() -> bool:
    """True when grading in the sandbox is possible here."""
    return all(finding.ok for finding in findings())


def main(argv: Sequence[str] | None = None) -> int:
    """Print the findings; 0 when grading in the sandbox is possible, 3 when it is not."""
    parser = argparse.ArgumentParser(
        prog="autograder doctor",
        description="Say what this machine can do to box student code, and the remedy for what it cannot.",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(argv)
    found = findings()
    good = all(finding.ok for finding in found)
    if options.json:
        print(json.dumps({"ok": good, "findings": [asdict(finding) for finding in found]}, indent=2))
        return OK if good else UNAVAILABLE
    width = max(len(finding.name) for finding in found)
    for finding in found:
        print(f"{'ok ' if finding.ok else 'NO '} {finding.name:<{width}}  {finding.detail}")
        for line in finding.remedy.splitlines() if not finding.ok else ():
            print(f"    {'':<{width}}  {line}")
    if good:
        print("\nStudent code can be graded in the sandbox on this machine.")
    else:
        print(
            "\nStudent code cannot be boxed on this machine, so grading refuses. With --no-sandbox it runs as you,\n"
            "with your files and your network, and every report says so: only for code that you trust."
        )
    return OK if good else UNAVAILABLE


def _system() -> Finding:
    name = f"{platform.system()} {platform.release()}"
    return Finding("Linux", sys.platform == "linux", name, NO_LINUX)


def _tried(name: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except (SandboxError, OSError, ValueError) as error:
        return Finding(name, False, str(error).removesuffix(ASK_DOCTOR), remedy_for(str(error)))


def _bubblewrap() -> Finding:
    paths = bwrap.programs()
    version = subprocess.run([paths.bwrap, "--version"], capture_output=True, text=True, timeout=10).stdout.strip()
    who = "root, each box as its own throw-away user" if bwrap.is_root() else "an ordinary user"
    return Finding("bubblewrap", True, f"{version} at {paths.bwrap}, run by {who}")


def _filter() -> Finding:
    size = len(seccomp.program()) // 8
    return Finding("filter of system calls", True, f"{size} instructions for {platform.machine()}")


def _run(source: str, *arguments: str, limits: Limits = TRIAL) -> End:
    argv = [view().python, "-I", "-c", source, *arguments]
    return start_box(argv, RunFolder(), limits).result().ended.result(timeout=60)


def _boxed_python() -> Finding:
    name = "a process in a box"
    end = _run("import sys; print('python', sys.version.split()[0])")
    if end.cause == "exit" and end.code == 0 and end.tail.startswith("python"):
        return Finding(name, True, f"{end.tail.strip()} at {view().python}")
    remedy = remedy_for(end.tail) if end.tail.startswith("bwrap: ") else readable(view().python)
    return Finding(name, False, f"{end.sentence(TRIAL)} {end.tail.strip()}", remedy)


def _escape() -> Finding:
    name = "ways out of the box"
    done = escapes(lambda source, arguments: _run(source, *arguments))
    if done:
        return Finding(name, False, "student code " + "; ".join(done), AN_ESCAPE)
    return Finding(name, True, "tried: files, network, sockets, other processes, namespaces, mounts; none led out")


def _memory() -> Finding:
    name = "limit on memory"
    # Two processes of which neither is over the limit alone.
    source = "import os, time; os.fork(); block = b'x' * (200 * 2**20); time.sleep(20)"
    end = _run(source)
    if end.cause == "memory":
        return Finding(name, True, f"two processes of 200 MB were stopped at {TRIAL.memory_mb} MB together")
    return Finding(name, False, f"two processes of 200 MB were not stopped: {end}", AN_ESCAPE)


def _groups() -> Finding:
    """Never a fault: without them the watch and the limits of each process hold."""
    name = "control groups"
    found = groups()
    if found is None:
        return Finding(
            name, True, f"not here ({why_none()}), so memory is watched, every {POLL_S:g} s, and not bounded"
        )
    return Finding(name, True, f"tried: the kernel bounds each box's memory and processes, below {found.path.parent}")


def _packages() -> Finding:
    name = "packages in the box"
    end = _run("import torch, numpy, ipykernel; print('torch', torch.__version__)", limits=Limits())
    if end.cause == "exit" and end.code == 0:
        lines = [line for line in end.tail.splitlines() if line.startswith("torch")]
        return Finding(name, True, ", ".join(lines) + ", numpy and ipykernel can be imported")
    words = end.tail.strip().splitlines()[-1:] or [end.sentence(TRIAL)]
    return Finding(name, False, words[0], readable(sys.prefix))


def _warm() -> Finding:
    """Never a fault: where a fork cannot be fenced off, each kernel gets a box of its own, which is slower and no less tight."""
    name = "warm kernels"
    try:
        template = keeper().call(lambda: Template(())).result()
        try:
            template.wait_until_ready(10)
            done = escapes_of_a_fork(template)
        finally:
            template.close()
    except (SandboxError, OSError) as error:
        done = [str(error)]
    if done:
        return Finding(name, True, f"not here, so kernels start one by one, slower and as safe: {'; '.join(done)}")
    landlock = f"Landlock {template.landlock}" if template.landlock else "no Landlock, which is a second fence only"
    return Finding(name, True, f"forks of one process, each in a world of its own; the same ways out tried; {landlock}")


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        raise SystemExit(main())
