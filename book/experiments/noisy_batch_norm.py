"""Noise behind batch norm (after Santurkar et al. 2018): does it hurt when the inputs of a layer never stand still?"""

from __future__ import annotations

import math
import statistics
from typing import Any

import torch
from _conv_net import refreshed
from _digits import MakeNorm, digits, error_percent, perceptron, step
from _text import spread, table
from torch import Tensor, nn

QUESTION = "Does training suffer when the output of each batch norm is moved and stretched at random in every step?"
EXPECTED = (
    "at rate 0.1 the shaken network learns about as fast as the calm one and ends better than the one without a norm, "
    "although its inputs move hundreds of times as far; at rate 0.03 the plain network is at least as good."
)
SETTINGS = {"rates": [0.1, 0.03], "updates": 210, "batch": 64, "momentum": 0.9, "path": 120, "unit": 3}
SEEDS = (0, 1, 2, 3, 4)
SMALL = {**SETTINGS, "updates": 70, "path": 20}
KINDS = ("no norm", "no norm + noise", "batch norm", "noisy batch norm")
EVERY = 10  # steps between two measurements of the drift


class Shaken(nn.Module):
    """Moves and stretches what a layer gives, in training: anew in each step per unit, and a little per sample."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.still = False

    def forward(self, x: Tensor) -> Tensor:
        """Return s y + t, with one shift t and one stretch s per unit and a little per sample."""
        y = self.layer(x)  # (N, C)
        if self.still or not self.training:
            return y
        shift = torch.rand_like(y[:1]) - 0.5 + 0.2 * (torch.rand_like(y) - 0.5)
        stretch = 1 + 0.25 * torch.rand_like(y[:1]) + 0.1 * torch.randn_like(y)
        return y * stretch + shift


def make(kind: str, sigmoid: bool) -> nn.Sequential:
    """Return five hidden layers of 64 units."""
    layers: dict[str, MakeNorm] = {
        "no norm": lambda width: nn.Identity(),
        "no norm + noise": lambda width: Shaken(nn.Identity()),
        "batch norm": nn.BatchNorm1d,
        "noisy batch norm": lambda width: Shaken(nn.BatchNorm1d(width)),
    }
    net = perceptron(layers[kind])
    if sigmoid:
        net = nn.Sequential(*(nn.Sigmoid() if isinstance(module, nn.ReLU) else module for module in net))
    return net


@torch.no_grad()
def received(net: nn.Sequential, probe: Tensor) -> Tensor:
    """Return what the last activation gets in training mode, (N, C); the buffers are put back."""
    kept = [b.clone() for b in net.buffers()]
    out = net[:-2](probe)
    for b, value in zip(net.buffers(), kept, strict=True):
        b.copy_(value)
    return out


def run_one(kind: str, rate: float, sigmoid: bool, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train once; return losses, drift and errors."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    net = make(kind, sigmoid)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=settings["momentum"])
    losses, drifts, path = [], [], []

    def note(_module: nn.Module, inputs: tuple[Tensor, ...], _out: Tensor) -> None:
        one = inputs[0].detach()[:, settings["unit"]]
        path.append((one.mean() / one.std()).item())

    watched = seed == 0 and not sigmoid and rate == settings["rates"][0] and kind != "no norm + noise"
    for update in range(settings["updates"]):
        before = received(net, x[:256]) if update % EVERY == 0 else None
        handle = net[-2].register_forward_hook(note) if watched and update < settings["path"] else None
        pick = torch.randint(len(x), (settings["batch"],))
        losses.append(step(net, optimizer, x[pick], y[pick]))
        if handle is not None:
            handle.remove()
        if before is not None:
            gone = (received(net, x[:256]).mean(0) - before.mean(0)).abs() / before.std(0, correction=0)
            drifts.append(gone.mean().item())
    last = statistics.fmean(losses[-20:])
    for module in net.modules():
        if isinstance(module, Shaken):
            module.still = True
    fresh = error_percent(refreshed(net, x), x_test, y_test)
    return {
        "loss_50": round(min(statistics.fmean(losses[40:60]), 99.0), 4) if math.isfinite(losses[59]) else None,
        "loss_end": round(min(last, 99.0), 4) if math.isfinite(last) else None,
        "drift": round(statistics.median(drifts), 5) if all(map(math.isfinite, drifts)) else None,
        "error": round(error_percent(net.eval(), x_test, y_test), 3),
        "error_refreshed": round(fresh, 3),
        "path": [round(p, 3) for p in path],
        "losses": [round(loss, 4) for loss in losses[: len(path)]],
    }


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return {activation and rate: {kind: [one entry per seed]}}."""
    cases = [(f"relu_{rate}", rate, False) for rate in settings["rates"]]
    cases.append((f"sigmoid_{settings['rates'][0]}", settings["rates"][0], True))
    return {
        case: {kind: [run_one(kind, rate, sigmoid, seed, settings) for seed in seeds] for kind in KINDS}
        for case, rate, sigmoid in cases
    }


def pick_out(values: Any, case: str, kind: str, key: str) -> list[float] | None:
    """Return one number per seed, or nothing if it was not finite for one of them."""
    found = [entry[key] for entry in values[case][kind]]
    return None if None in found else found


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote."""
    said = {}
    for short, kind in (("none", "no norm"), ("bn", "batch norm"), ("noisy", "noisy batch norm")):
        fast = values["relu_0.1"][kind]
        said[f"drift_{short}"] = f"{statistics.fmean(entry['drift'] for entry in fast):.3f}"
        said[f"loss_{short}"] = f"{statistics.fmean(entry['loss_50'] for entry in fast):.2f}"
        said[f"fast_{short}"] = spread([entry["error"] for entry in fast])
        said[f"slow_{short}"] = spread([entry["error"] for entry in values["relu_0.03"][kind]])
        said[f"sigmoid_{short}"] = spread([entry["error"] for entry in values["sigmoid_0.1"][kind]])
    said["fast_shaken_plain"] = spread([entry["error"] for entry in values["relu_0.1"]["no norm + noise"]])
    said["fast_noisy_refreshed"] = spread(
        [entry["error_refreshed"] for entry in values["relu_0.1"]["noisy batch norm"]]
    )
    drift = {kind: [entry["drift"] for entry in values["relu_0.1"][kind]] for kind in KINDS[2:]}
    said["times"] = f"{statistics.fmean(drift['noisy batch norm']) / statistics.fmean(drift['batch norm']):.0f}"
    plain = statistics.fmean(entry["drift"] for entry in values["relu_0.1"]["no norm"])
    said["times_plain"] = f"{statistics.fmean(drift['noisy batch norm']) / plain:.0f}"
    said["seeds"] = str(len(fast))
    return said


def tables(values: Any) -> dict[str, str]:
    """Return one table for each activation and rate."""
    told = {}
    for key, case in (("fast", "relu_0.1"), ("slow", "relu_0.03"), ("sigmoid", "sigmoid_0.1")):
        rows = []
        for kind in KINDS:
            loss, drift = (pick_out(values, case, kind, what) for what in ("loss_50", "drift"))
            rows.append(
                [
                    kind,
                    "-" if drift is None else spread(drift, 3),
                    "-" if loss is None else spread(loss, 2),
                    spread([entry["error"] for entry in values[case][kind]]),
                ]
            )
        told[key] = table(["network", "drift a step", "loss near step 50", "test error %"], rows)
    return told
