"""How well behaved is the loss along a step: its range, the change of its gradient, and an effective smoothness."""

from __future__ import annotations

import statistics
from typing import Any

import torch
import torch.nn.functional as F
from _digits import NORMS, digits, error_percent, perceptron
from _text import mean, spread, table
from torch import Tensor, nn

QUESTION = "How much do the loss and its gradient vary along minus the gradient, up to four step lengths away?"
EXPECTED = (
    "with batch norm the range of the losses and the change of the gradient are several times smaller, most of all "
    "in the deeper network; the test error need not follow."
)
SETTINGS = {
    "depths": [5, 10],
    "updates": 200,
    "every": 8,
    "batch": 128,
    "rate": 0.1,
    "reach": [0.5, 1.0, 2.0, 3.0, 4.0],
}
SEEDS = (0, 1, 2, 3, 4)
SMALL = {**SETTINGS, "updates": 16}
KINDS = ("no norm", "layer norm", "batch norm")


def slope(net: nn.Module, x: Tensor, y: Tensor) -> tuple[float, Tensor]:
    """Return loss and gradient as one vector."""
    loss = F.cross_entropy(net(x), y)
    return loss.item(), torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(net.parameters()))])


def look_ahead(net: nn.Module, x: Tensor, y: Tensor, settings: dict[str, Any]) -> dict[str, float]:
    """Walk along minus the gradient and come back: parameters and buffers are put back."""
    here = [p.detach().clone() for p in net.parameters()]
    kept = [b.clone() for b in net.buffers()]
    _, start = slope(net, x, y)
    pieces = start.split([p.numel() for p in here])
    losses, changes, ratios = [], [], []
    for reach in settings["reach"]:
        far = reach * settings["rate"]
        with torch.no_grad():
            for p, origin, piece in zip(net.parameters(), here, pieces, strict=True):
                p.copy_(origin - far * piece.view_as(p))
        loss, there = slope(net, x, y)
        losses.append(min(loss, 1e6))
        changes.append((there - start).norm().item())
        ratios.append(changes[-1] / (far * start.norm().item()))
    with torch.no_grad():
        for p, origin in zip(net.parameters(), here, strict=True):
            p.copy_(origin)
        for b, value in zip(net.buffers(), kept, strict=True):
            b.copy_(value)
    return {"range": max(losses) - min(losses), "gradient": max(changes), "beta": max(ratios)}


def run_one(kind: str, depth: int, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train once and look ahead every few updates."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    net = perceptron(NORMS[kind], depth)
    optimizer = torch.optim.SGD(net.parameters(), lr=settings["rate"])
    seen: dict[str, Any] = {"range": [], "gradient": [], "beta": []}
    for update in range(settings["updates"]):
        batch = torch.randint(len(x), (settings["batch"],))
        if update % settings["every"] == 0:
            for key, value in look_ahead(net, x[batch], y[batch], settings).items():
                seen[key].append(float(f"{value:.4g}"))
        optimizer.zero_grad()
        F.cross_entropy(net(x[batch]), y[batch]).backward()
        optimizer.step()
    return {**seen, "error": round(error_percent(net.eval(), x_test, y_test), 3)}


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return {depth: {kind: [one entry per seed]}}."""
    return {
        str(depth): {kind: [run_one(kind, depth, seed, settings) for seed in seeds] for kind in KINDS}
        for depth in settings["depths"]
    }


def medians(entries: list[dict[str, Any]], key: str) -> list[float]:
    """Return the median over the training, one per seed."""
    return [statistics.median(entry[key]) for entry in entries]


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote."""
    said = {}
    for short, kind in (("none", "no norm"), ("bn", "batch norm"), ("ln", "layer norm")):
        for depth in ("5", "10"):
            entries = values[depth][kind]
            said[f"worst_{short}_{depth}"] = mean([max(entry["range"]) for entry in entries])
            said[f"range_{short}_{depth}"] = spread(medians(entries, "range"), 2)
            said[f"beta_{short}_{depth}"] = spread(medians(entries, "beta"))
            said[f"error_{short}_{depth}"] = spread([entry["error"] for entry in entries])
    said["seeds"] = str(len(entries))
    return said


def tables(values: Any) -> dict[str, str]:
    """Return one table for each depth: layers_5, layers_10."""
    head = ["norm", "range of the loss", "change of the gradient", "the same, per length", "error %"]
    return {
        f"layers_{depth}": table(
            head,
            [
                [
                    kind,
                    spread(medians(entries, "range"), 2),
                    spread(medians(entries, "gradient")),
                    spread(medians(entries, "beta")),
                    spread([entry["error"] for entry in entries]),
                ]
                for kind, entries in kinds.items()
            ],
        )
        for depth, kinds in values.items()
    }
