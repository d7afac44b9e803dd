"""Are the scale and the shift of a norm worth having? Test error with both, with one of them, and with neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from _digits import NORMS, batches, digits, error_percent, perceptron, step
from _text import mean, spread, table

QUESTION = "How does the test error change when a norm's scale, shift or both are left out?"
EXPECTED = "little, since the next layer can take over the scale; if either matters here, it should be the shift"
SETTINGS: dict[str, Any] = {"epochs": 8, "batch": 64, "rate": 0.1, "depth": 5}
SEEDS = range(10)
SMALL = {**SETTINGS, "epochs": 1}
KINDS = {"both": (True, True), "scale only": (True, False), "shift only": (False, True), "neither": (False, False)}


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, dict[str, list[float]]]:
    """Return the test error in evaluation mode: by norm and by what is learned, one a seed."""
    x, y, x_test, y_test = digits()
    found: dict[str, dict[str, list[float]]] = {}
    for name in ("batch norm", "layer norm", "group norm"):
        found[name] = {}
        for kind, (scale, shift) in KINDS.items():
            errors = []
            for seed in seeds:
                torch.manual_seed(seed)
                net = perceptron(NORMS[name], settings["depth"])
                for norm in net[1:-1:3]:  # what is not learned stays at 1 or at 0
                    norm.weight.requires_grad_(scale)
                    norm.bias.requires_grad_(shift)
                learned = [p for p in net.parameters() if p.requires_grad]
                sgd = torch.optim.SGD(learned, settings["rate"], momentum=0.9)
                for batch in batches(len(x), settings["batch"], settings["epochs"]):
                    step(net, sgd, x[batch], y[batch])
                errors.append(round(error_percent(net.eval(), x_test, y_test), 3))
            found[name][kind] = errors
    return found


def numbers(values: Any) -> dict[str, str]:
    """Return the mean errors with both and with neither."""
    return {
        f"{norm.split()[0]}_{kind.split()[0]}": mean(values[norm][kind], 2)
        for norm in values
        for kind in ("both", "neither")
    }


def tables(values: Any) -> dict[str, str]:
    """Return all errors, one row a norm."""
    rows = [[norm, *(spread(values[norm][kind], 2) for kind in KINDS)] for norm in values]
    return {"errors": table(["norm", *KINDS], rows)}
