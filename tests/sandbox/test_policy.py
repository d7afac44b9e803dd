"""Limits mean what they say, and the environment of a box is made, not inherited."""

import pytest

from autograder.errors import UsageError
from autograder.sandbox.policy import Limits, environment, rlimits


@pytest.mark.parametrize("name", ["cpu_s", "memory_mb", "processes", "output_mb"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_limit_that_is_none_is_refused(name, value):
    """Zero means "unlimited" to some tools."""
    with pytest.raises(UsageError, match=f"{name} must be above zero"):
        Limits(**{name: value})


def test_every_rlimit_is_a_whole_number_above_the_watch():
    """The watch over the tree decides first; the per-process limit is its guard."""
    limits = Limits(cpu_s=0.5, memory_mb=100)
    values = rlimits(limits)
    assert all(isinstance(value, int) and value >= 0 for value in values.values())
    assert values["cpu"] >= limits.cpu_s
    assert values["data"] > limits.memory_mb * 2**20
    assert values["core"] == 0


def test_the_environment_holds_nothing_of_the_graders(monkeypatch):
    """One thread per numerical library, one hash salt."""
    monkeypatch.setenv("SECRET", "1")
    variables = environment("/bin", "/opt")
    assert "SECRET" not in variables
    assert {variables[f"{name}_NUM_THREADS"] for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")} == {"1"}
    assert variables["PYTHONHASHSEED"] == "0"
