"""What may cost points in the example lab, each with a pattern for the sentence that says so."""

from __future__ import annotations

BEHAVIOURS: dict[str, str] = {
    "how exact the prediction is": r"right to two\s+decimals",
    "shape and dtype": r"a new tensor of the same shape and dtype",
    "rows": r"Each \*\*row\*\* has a length of its own",
    "eps is a floor": r"`eps` is a \*\*floor\*\* under the length",
    "a row of zeros": r"A row of\s+zeros stays zero",
    "dtypes and strides": r"in float64 and in float32, for contiguous inputs and for strided ones",
    "x stays": r"`x` itself \*\*stays as it is\*\*",
}
