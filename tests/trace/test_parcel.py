"""Several replies travel in one piece, and a piece that does not hold them is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.errors import ProtocolError
from autograder.trace.parcel import pack, unpack


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_what_goes_in_comes_out(replies: list[bytes]) -> None:
    assert unpack(pack(replies), 6) == tuple(replies)


@pytest.mark.parametrize(
    ("parcel", "most"),
    [
        (b"x", 3),
        (pack([b"abc"])[:-1], 3),
        (pack([b"abc"]) + b"\0" * 7, 3),
        (b"\xff" * 8 + b"abc", 3),
        (pack([b"a", b"b"]), 1),
        (pack([b""] * 1000), 3),
    ],
)
def test_what_is_no_parcel_is_refused(parcel: bytes, most: int) -> None:
    """Too short, too long, a length of more than there is, more replies than were asked for."""
    with pytest.raises(ProtocolError, match="which are not up to"):
        unpack(parcel, most)
