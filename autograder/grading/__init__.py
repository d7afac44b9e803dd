"""Grading: a notebook and a lab go in, a report comes out.

Importing it costs a process more than a second less than importing `nbformat` alone: see NEVER_ASKED.
"""

import sys

NEVER_ASKED = ("rfc3987_syntax", "isoduration")
"""What jsonschema, and so nbformat, imports if it can: parsers of web addresses and of durations.

The first takes 1.2 s. They are there for schemas that ask for such formats, and those of notebooks do not. Where nobody has
imported them yet they count as absent, which jsonschema allows for.
"""

for name in NEVER_ASKED:
    sys.modules.setdefault(name, None)  # type: ignore[arg-type]
del name
