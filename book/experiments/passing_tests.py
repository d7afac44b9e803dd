"""How often a wrong layer passes a weak assertion, and how often it passes a comparison. Trains nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

QUESTION = "How often does a wrong layer pass the assertions with which two home-made layers were once checked?"
EXPECTED = (
    "On standard normal data the identity passes the assertion on batch norm about nine times in ten, and a layer that "
    "only centres passes both assertions always; a comparison with PyTorch on other data rejects every wrong layer."
)
SETTINGS: dict[str, Any] = {"draws": 400, "rows": 32, "features": 10, "compared_rows": 6}
SEEDS = range(5)
SMALL: dict[str, Any] = {"draws": 10, "rows": 32, "features": 10, "compared_rows": 6}

EPS = 1e-5
Layer = Callable[[Tensor], Tensor]


def scaled(x: Tensor, axis: int, correction: int) -> Tensor:
    """Return x less its mean over the axis, divided by the standard deviation with that correction."""
    return (x - x.mean(axis, keepdim=True)) / (x.var(axis, keepdim=True, correction=correction) + EPS).sqrt()


LAYERS: dict[str, dict[str, Layer]] = {
    "batch norm": {
        "nothing at all": lambda x: x,
        "centring only": lambda x: x - x.mean(0),
        "the unbiased variance": lambda x: scaled(x, 0, 1),
        "layer norm": lambda x: scaled(x, 1, 0),
        "batch norm, right": lambda x: scaled(x, 0, 0),
    },
    "layer norm": {
        "nothing at all": lambda x: x,
        "centring only": lambda x: x - x.mean(1, keepdim=True),
        "the unbiased variance": lambda x: scaled(x, 1, 1),
        "batch norm": lambda x: scaled(x, 0, 0),
        "layer norm, right": lambda x: scaled(x, 1, 0),
    },
}


def asserted(wanted: str, layer: Layer, x: Tensor) -> bool:
    """Say whether the layer passes the old assertion on this standard normal input."""
    y = layer(x)
    off = y.mean().abs() if wanted == "batch norm" else y.mean(-1).abs().max()
    return bool(off < 0.1)


def compared(wanted: str, layer: Layer, x: Tensor) -> bool:
    """Say whether the layer, with a random scale and shift behind it, equals PyTorch's on 5 x + 3."""
    x = 5 * x + 3
    weight, bias = torch.randn(2, x.shape[1])
    if wanted == "batch norm":
        right = F.batch_norm(x, None, None, weight, bias, training=True, eps=EPS)
    else:
        right = F.layer_norm(x, x.shape[1:], weight, bias, eps=EPS)
    return torch.allclose(layer(x) * weight + bias, right, atol=1e-4)


def run(settings: dict[str, Any], seeds: range | list[int]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return the rates of passing in per cent, one per seed: by layer wanted, layer given, and test."""
    rates: dict[str, dict[str, dict[str, list[float]]]] = {}
    draws = settings["draws"]
    for wanted, given in LAYERS.items():
        rates[wanted] = {name: {"assertion": [], "comparison": []} for name in given}
        for name, layer in given.items():
            for seed in seeds:
                torch.manual_seed(seed)
                long = [torch.randn(settings["rows"], settings["features"]) for _ in range(draws)]
                short = [torch.randn(settings["compared_rows"], settings["features"]) for _ in range(draws)]
                rates[wanted][name]["assertion"].append(100 * sum(asserted(wanted, layer, x) for x in long) / draws)
                rates[wanted][name]["comparison"].append(100 * sum(compared(wanted, layer, x) for x in short) / draws)
    return rates


def mean_and_spread(rates: list[float]) -> str:
    """Return "91.2 ± 1.4", or "100" or "0" where no seed differed."""
    values = torch.tensor(rates)
    spread = values.std().item()
    return f"{values.mean().item():.1f} ± {spread:.1f}" if spread > 0 else f"{values.mean().item():.0f}"


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return the rates that the text speaks of."""
    return {
        "identity": mean_and_spread(values["batch norm"]["nothing at all"]["assertion"]),
        "centring": mean_and_spread(values["batch norm"]["centring only"]["assertion"]),
        "unbiased_layer": mean_and_spread(values["layer norm"]["the unbiased variance"]["assertion"]),
    }


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return one table with both assertions."""
    rows = [
        "| wanted | given | passes assertion, % | passes comparison, % |",
        "|---|---|---|---|",
    ]
    for wanted, given in values.items():
        for name, tests in given.items():
            cells = (mean_and_spread(tests[test]) for test in ("assertion", "comparison"))
            rows.append(f"| {wanted} | {name} | {' | '.join(cells)} |")
    return {"rates": "\n".join(rows)}
