"""A look says which addresses are read: those of the check and the scenario, and what tells careless answers apart."""

from __future__ import annotations

import pickle

import pytest

from autograder.trace.look import EVERYTHING, Look

ANY = ("*",)


@pytest.mark.parametrize(
    ("keys", "only", "address", "read"),
    [
        (("m.running_*",), ANY, "m.running_mean", True),
        (("m.running_*",), ANY, "m.weight", False),
        (("m.*",), ("m.weight",), "m.weight", True),
        (("m.*",), ("m.weight",), "m.bias", False),
        ((), ANY, "x.grad", False),
        # What was returned in place of an error that was due, or of parts.
        ((), ANY, "y", True),
        ((), ANY, "result", True),
        ((), ANY, "result holds", True),
        ((), ANY, "result[0]", False),
        # Whether all parts are there is asked of those that the check compares, whatever the scenario is about.
        (("result[*]",), ("result[0]",), "result[1]", True),
        (("result[0]",), ANY, "result[1]", False),
        (("len(result)",), ("result[0]",), "len(result)", False),
        # What stands where one value is due.
        (("result['a']",), ANY, "result['a'] holds", True),
        (("prediction",), ANY, "prediction holds", True),
        (("m.*",), ("m.weight",), "m.bias holds", False),
    ],
)
def test_what_is_read(keys: tuple[str, ...], only: tuple[str, ...], address: str, read: bool) -> None:
    """Asked twice, since the answer is kept."""
    look = Look(keys, only)
    assert [look.at(address), look.at(address)] == [read, read]
    assert EVERYTHING.at(address)


def test_it_travels_with_what_was_found_out() -> None:
    """So that a kernel need not find it out again."""
    look = Look(("m.*",))
    look.at("m.weight"), look.at("x.grad")
    sent = pickle.loads(pickle.dumps(look))
    assert (sent.keys, sent.only) == (look.keys, look.only)
    assert sent._known == {"m.weight": True, "x.grad": False}
