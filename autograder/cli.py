"""`autograder`: the command line. It parses words, loads the one command that is asked for, and ends with its exit code.

0 done, whatever the points; 2 the words are off; 3 the sandbox or the grader itself failed. Imports are made late, so that
`autograder --help` does not wait for torch.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

USAGE, FAILED = 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["labs"]:
        return _labs(words[1:])
    given = _parser().parse_args(words)
    from autograder.errors import AutograderError, SandboxUnavailable, UsageError

    try:
        if given.command == "doctor":
            doctor = importlib.import_module("autograder.sandbox.doctor")
            return int(doctor.main(["--json"] if given.json else []))
        command = importlib.import_module(f"autograder.commands.{given.module}")
        _settle(given)
        return int(command.run(given))
    except UsageError as problem:
        print(f"autograder {given.command}: {problem}", file=sys.stderr)
        return USAGE
    except AutograderError as problem:
        print(f"autograder {given.command}: {problem}", file=sys.stderr)
        if isinstance(problem, SandboxUnavailable):
            print("--no-sandbox grades without one: student code can then do what you can.", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"autograder {given.command}: stopped by the keyboard", file=sys.stderr)
        return FAILED
    except Exception:
        import traceback

        traceback.print_exc()
        told = "this is a fault of the grader, not of a submission; what it had not finished is not graded"
        print(f"autograder {given.command}: {told}", file=sys.stderr)
        return FAILED


def _settle(given: argparse.Namespace) -> None:
    """Draw the seed that was not given; it is secret until the report shows it."""
    import secrets

    from autograder.errors import UsageError

    given.asked_seed = given.seed
    if given.seed is None:
        given.seed = secrets.randbelow(1 << 31)
    if not 0 <= given.seed < 1 << 63:
        raise UsageError(
            f"--seed must be from 0 to 2^63 - 1; {given.seed} was given. Take the one that a report names."
        )


def _labs(words: list[str]) -> int:
    return int(importlib.import_module("autograder.authoring.labs").main(words))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="autograder", description="Grade the labs of the course on normalization.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    tried = commands.add_parser("try", help="grade a plain Python file", description="Grade a plain Python file.")
    tried.set_defaults(module="try_file")
    tried.add_argument("lab", metavar="LAB", help="the lab's name, as lab01_batch_norm")
    tried.add_argument("file", metavar="FILE.py", type=Path, help="a file that defines the names of the lab's contract")
    _shared(tried)

    graded = commands.add_parser(
        "grade",
        help="grade all of submitted/",
        description="Grade every submission of a lab, record the scores in nbgrader's gradebook, write reports and feedback.",
    )
    graded.set_defaults(module="grade_class")
    graded.add_argument("lab", metavar="LAB", help="the lab's name, as lab01_batch_norm")
    graded.add_argument("--student", action="append", metavar="ID", help="only this one (may be repeated)")
    graded.add_argument("--again", action="store_true", help="grade unchanged submissions anew, too")
    _shared(graded)
    _executor(graded)

    commands.add_parser("labs", help="make the students' notebooks, check that they are fresh, or lint", add_help=False)
    doctor = commands.add_parser("doctor", help="say what this machine can do, and the remedy for what it cannot")
    doctor.add_argument("--json", action="store_true", help="machine-readable")
    return parser


def _executor(parser: argparse.ArgumentParser) -> None:
    from autograder.commands.executors import add_executor

    add_executor(parser)


def _shared(parser: argparse.ArgumentParser) -> None:
    from autograder.commands.limits import add_limits

    parser.add_argument(
        "--seed", type=int, help="draw the scenarios of this seed, as the report of an earlier run says"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--course", type=Path, help="the course's folder (the nearest one above the current folder)")
    parser.add_argument(
        "--no-sandbox", action="store_true", help="run student code without a sandbox: it can do anything"
    )
    add_limits(parser)


if __name__ == "__main__":
    sys.exit(main())
