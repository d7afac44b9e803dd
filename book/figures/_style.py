"""How the layers look in every figure: colour, line and marker, never the colour alone. It draws nothing."""

from __future__ import annotations

# name: (colour, line, marker)
STYLES = {
    "no norm": ("#8a8a8a", ":", "x"),
    "batch norm": ("#0b57d0", "-", "o"),
    "layer norm": ("#b26a00", "--", "s"),
    "group norm": ("#6a3fb5", "-.", "D"),
    "instance norm": ("#00796b", ":", "P"),
    "RMS norm": ("#5d4037", ":", "*"),
    "noisy batch norm": ("#c2185b", "-.", "^"),
    "batch renorm": ("#2e7d32", "-.", "v"),
}
