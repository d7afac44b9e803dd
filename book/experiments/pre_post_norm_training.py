"""Does a post-norm decoder need a warm-up of the learning rate that a pre-norm decoder does not?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from _decoder import Decoder, characters, loss_of, windows
from _text import mean, spread, table
from torch import Tensor

QUESTION = "Does a post-norm decoder need a warm-up of the learning rate, and does a pre-norm decoder do without?"
EXPECTED = (
    "pre-norm trains with and without a warm-up, post-norm is behind without one and needs it more at the larger "
    "rate (two seeds of a somewhat larger model had said so)"
)
SETTINGS: dict[str, Any] = {
    "depth": 6,
    "width": 64,
    "heads": 4,
    "length": 32,
    "batch": 8,
    "steps": 300,
    "warm_up": 100,
    "rates": [1e-3, 3e-3],
    "judged": 128,
    "every": 10,
}
SEEDS = range(5)
SMALL = {**SETTINGS, "depth": 2, "width": 16, "steps": 10, "judged": 8}
KINDS = ("post", "post, warm-up", "pre", "pre, warm-up")


def train(kind: str, rate: float, settings: dict[str, Any], seed: int, text: Tensor) -> dict[str, Any]:
    """Return the loss on the last tenth of the text after training on the rest, and the training losses, averaged."""
    cut = len(text) * 9 // 10
    place, _, warm = kind.partition(", ")
    torch.manual_seed(1000)
    judged = windows(text[cut:], settings["judged"], settings["length"])  # the same for all
    torch.manual_seed(seed)
    net = Decoder(
        place, settings["depth"], int(text.max()) + 1, settings["length"], settings["width"], settings["heads"]
    )
    adam = torch.optim.Adam(net.parameters(), rate)
    ramp = settings["warm_up"] if warm else 1
    slower = torch.optim.lr_scheduler.LambdaLR(adam, lambda t: min(1.0, (t + 1) / ramp))
    losses = []
    for _ in range(settings["steps"]):
        loss = loss_of(net, *windows(text[:cut], settings["batch"], settings["length"]))
        adam.zero_grad()
        loss.backward()
        adam.step()
        slower.step()
        losses.append(loss.item())
    with torch.no_grad():
        final = loss_of(net, *judged).item()
    curve = torch.tensor(losses).unflatten(0, (-1, settings["every"])).mean(1)
    return {"loss": round(final, 4), "curve": [round(value, 3) for value in curve.tolist()]}


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """Return what `train` gives for each rate, kind and seed."""
    text = characters()
    return {
        f"{rate:g}": {kind: [train(kind, rate, settings, seed, text) for seed in seeds] for kind in KINDS}
        for rate in settings["rates"]
    }


def final(values: Any, rate: str, kind: str) -> list[float]:
    """Return the loss on the unseen text, for each seed."""
    return [one["loss"] for one in values[rate][kind]]


def numbers(values: Any) -> dict[str, str]:
    """Return the losses of the table one by one, and how far the seeds of the worst row lie apart."""
    found = {"stuck_high": str(sum(loss > 3.2 for loss in final(values, list(values)[-1], "post, warm-up")))}
    for name, rate in zip(("low", "high"), values, strict=True):
        for kind in KINDS:
            key = kind.replace(", warm-up", "_warm") + f"_{name}"
            found[key] = mean(final(values, rate, kind), 2)
        found[f"post_best_{name}"] = f"{min(final(values, rate, 'post')):.2f}"
        found[f"post_worst_{name}"] = f"{max(final(values, rate, 'post')):.2f}"
    return found


def tables(values: Any) -> dict[str, str]:
    """Return the losses on unseen text, one row a kind, one column a rate."""
    rows = [[f"{kind}", *(spread(final(values, rate, kind), 2) for rate in values)] for kind in KINDS]
    return {"losses": table(["norm", *(f"rate {rate}" for rate in values)], rows)}
