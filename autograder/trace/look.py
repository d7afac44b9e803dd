"""A Look: which addresses of a scenario's trace anyone reads, so that the probe neither computes nor sends the others.

It travels with the question. It tells where is looked, as patterns, and not what should stand there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from autograder.trace.scenario import matches

# What was returned is read whatever a check looks at: in place of an error that was due, or of parts that are missing.
RETURNED = ("y", "result", "result holds")
HOLDS = " holds"  # of an address: what stands there when it is no single value


@dataclass(frozen=True, eq=False)
class Look:
    """The patterns of the addresses that a check compares, and those of one of its scenarios (* and ? stand for anything).

    What was found out about an address is kept, and sent along.
    """

    keys: tuple[str, ...] = ("*",)
    only: tuple[str, ...] = ("*",)
    _known: dict[str, bool] = field(default_factory=dict, repr=False)

    def at(self, address: str) -> bool:
        """Tell whether somebody reads what stands at an address."""
        known = self._known.get(address)
        if known is None:
            known = self._known[address] = address in RETURNED or self._reads(address) or self._says_kind(address)
        return known

    def _reads(self, address: str) -> bool:
        # The parts of a result, also where a scenario is about fewer: whether they are all there is asked of them.
        return matches(address, self.keys) and (address.startswith("result") or matches(address, self.only))

    def _says_kind(self, address: str) -> bool:
        return address.endswith(HOLDS) and self._reads(address.removesuffix(HOLDS))


EVERYTHING = Look()
