"""The limits of a run as words of a command: which there are, and what they become."""

from __future__ import annotations

import argparse

from autograder.sandbox.policy import Limits


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options of the limits that a person has reason to change."""
    usual = Limits()
    group = parser.add_argument_group("limits of one submission")
    group.add_argument("--cpu", type=float, metavar="SECONDS", default=usual.cpu_s, help="CPU time (%(default)g)")
    group.add_argument(
        "--cell", type=float, metavar="SECONDS", default=usual.wall_cell_s, help="wall time of a cell (%(default)g)"
    )
    group.add_argument(
        "--wall", type=float, metavar="SECONDS", default=usual.wall_notebook_s, help="wall time in all (%(default)g)"
    )
    group.add_argument("--memory", type=int, metavar="MB", default=usual.memory_mb, help="memory (%(default)d)")


def limits_of(given: argparse.Namespace) -> Limits:
    """Return the limits that the words of a command ask for."""
    return Limits(cpu_s=given.cpu, wall_cell_s=given.cell, wall_notebook_s=given.wall, memory_mb=given.memory)
