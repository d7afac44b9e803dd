"""What the fallbacks of the two components share: numbers as words, and a tag's attributes. It writes no HTML."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

ATTRIBUTE = re.compile(r'([a-z-]+)="([^"]*)"')


class WrongAttribute(ValueError):
    """An attribute of a tag cannot be used; the message says what was given and what is allowed."""


def fixed(value: float, digits: int) -> str:
    """Return the number with that many decimals, a true minus sign, and never a negative zero."""
    text = str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))  # halves as JavaScript rounds them
    return text.replace("-", "−" if float(text) else "")


def short(value: float) -> str:
    """Return the number with at most two decimals."""
    return re.sub(r"\.?0+$", "", fixed(value, 2))


def attributes_of(text: str, allowed: dict[str, str], tag: str) -> dict[str, str]:
    """Return the attributes of a tag over their defaults."""
    given = dict(ATTRIBUTE.findall(text))
    unknown = sorted(set(given) - set(allowed) - {"class"})
    if unknown:
        raise WrongAttribute(f"<{tag}> has no attribute {unknown[0]}; it has {', '.join(allowed)}.")
    return {**allowed, **given}


def numbers_of(about: dict[str, str], name: str, tag: str) -> list[float]:
    """Return the numbers of an attribute that lists them with commas."""
    try:
        return [float(part) for part in re.split(r"[, ]+", about[name])]
    except ValueError:
        raise WrongAttribute(f'<{tag} {name}="{about[name]}"> is not a list of numbers.') from None
