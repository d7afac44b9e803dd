"""Several replies in one: each with its length in front of it. What is in them is not looked at."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.errors import ProtocolError

LENGTH = 8  # bytes of a length, the lowest first


def pack(replies: Iterable[bytes]) -> bytes:
    """Return the replies in one piece."""
    return b"".join(len(reply).to_bytes(LENGTH, "little") + reply for reply in replies)


def unpack(parcel: bytes, most: int) -> tuple[bytes, ...]:
    """Return the replies that a parcel holds; ProtocolError when they are more than `most`, or do not fill it."""
    replies: list[bytes] = []
    begin = 0
    while begin < len(parcel):
        end = begin + LENGTH + int.from_bytes(parcel[begin : begin + LENGTH], "little")
        if end > len(parcel) or begin + LENGTH > len(parcel) or len(replies) == most:
            raise ProtocolError(f"The kernel's reply holds {len(parcel)} bytes, which are not up to {most} replies.")
        replies.append(parcel[begin + LENGTH : end])
        begin = end
    return tuple(replies)
