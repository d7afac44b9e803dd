"""What a student finds where a solution stood. `release` and nbgrader_config.py both take it from here."""

from __future__ import annotations

CODE_STUB = '# YOUR CODE HERE\nraise NotImplementedError("Write this part, and delete this line.")'
TEXT_STUB = "YOUR ANSWER HERE"
