"""Mistakes in what LayerNorm refuses: too little, too much, with another exception."""

from __future__ import annotations

from solutions.lab02_layer_norm.plain import GUARD, in_layer

HINT = (
    "Try shapes that differ in one axis only, and a size of 1, which broadcasts. What does your condition say of each?"
)
IF = "if tuple(x.shape[-k:]) != self.normalized_shape:"
RAISE = 'raise ValueError(f"the last axes must be {self.normalized_shape}, got {tuple(x.shape)}")'


def _guard(ident: str, title: str, symptom: str, condition: str, hint: str = HINT) -> object:
    return in_layer(ident, "errors", title, symptom, hint, "as-a-module", (IF, f"if {condition}:"))


ERRORS = (
    in_layer(
        "no-guard",
        "errors",
        "A wrong trailing shape is not refused",
        "Some shapes fail somewhere inside with a RuntimeError; a size of 1 broadcasts and nobody notices.",
        HINT,
        "as-a-module",
        (GUARD, ""),
    ),
    in_layer(
        "runtime-error",
        "errors",
        "A wrong trailing shape raises a RuntimeError, as torch does",
        "A RuntimeError, where the task asks for a ValueError.",
        "Which exception does the task name? It is one of the few places where it differs from torch.",
        "as-a-module",
        (RAISE, RAISE.replace("ValueError", "RuntimeError")),
    ),
    in_layer(
        "assertion",
        "errors",
        "A wrong trailing shape is caught by an assert",
        "An AssertionError, which python -O switches off.",
        "An assert is for what cannot happen. Which exception does the task name for what callers do wrong?",
        "as-a-module",
        (GUARD, "        assert tuple(x.shape[-k:]) == self.normalized_shape, x.shape\n"),
    ),
    _guard(
        "last-size-only",
        "Only the last size is compared",
        "LayerNorm((2, 3)) accepts (4, 1, 3) and (3,).",
        "x.shape[-1] != self.normalized_shape[-1]",
    ),
    _guard(
        "number-of-values",
        "The number of values is compared, not the shape",
        "LayerNorm((2, 3)) accepts (4, 3, 2): the statistics are right and the weights lie on the wrong places.",
        "x.shape[-k:].numel() != torch.Size(self.normalized_shape).numel()",
    ),
    _guard(
        "ones-accepted",
        "A size of 1 is accepted in the place of any other",
        "LayerNorm(3) turns (2, 1) into (2, 3).",
        "any(a not in (1, b) for a, b in zip(x.shape[-k:], self.normalized_shape)) or x.dim() < k",
    ),
    _guard(
        "only-with-affine",
        "The shape is compared only where there is a weight",
        "With elementwise_affine=False any input is accepted.",
        "self.weight is not None and tuple(x.shape[-k:]) != self.normalized_shape",
        "The task's condition doesn't mention elementwise_affine.",
    ),
    _guard(
        "only-in-training",
        "The shape is compared in training mode only",
        "After eval() a wrong shape passes or fails somewhere inside.",
        "self.training and tuple(x.shape[-k:]) != self.normalized_shape",
        "The task's condition doesn't mention the mode.",
    ),
    _guard(
        "rows-refused",
        "An input without a leading axis is refused",
        "LayerNorm(3) refuses a row of shape (3,).",
        "x.dim() == k or tuple(x.shape[-k:]) != self.normalized_shape",
        "A single row has a mean and a variance. What does the task say of leading axes?",
    ),
    _guard(
        "from-the-front",
        "The sizes behind the first axis are compared, whatever their number",
        "LayerNorm(3) refuses (2, 4, 3) and accepts (2, 3, 4).",
        "tuple(x.shape[1 : 1 + k] if x.dim() > k else x.shape) != self.normalized_shape",
        "normalized_shape is compared with the end of x.shape. Where does yours begin to count?",
    ),
    in_layer(
        "returned-as-it-is",
        "errors",
        "An input of a wrong shape is returned as it is",
        "Nothing is normalized and nobody is told.",
        "Who finds out, and when, that two layers don't fit together?",
        "as-a-module",
        (RAISE, "return x"),
    ),
)
