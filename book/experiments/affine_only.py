"""Training only the scales and shifts of the batch norms of a random network, against three other ways to train a part."""

from __future__ import annotations

from typing import Any

import torch
from _digits import batches, error_percent, perceptron, step
from _held_out import best, chosen, split_digits
from _text import spread, table
from torch import Tensor, nn

QUESTION = "How far does a network of random weights get when only its batch norms' scales and shifts are trained?"
EXPECTED = (
    "training only the scales and shifts is clearly worse than training everything, clearly better than training as many "
    "weights picked at random, and it gains from width: so Frankle et al. (2021) found for ResNets on CIFAR-10."
)
SETTINGS = {
    "widths": [16, 64, 256],
    "depth": 3,
    "rates": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0],
    "batch": 64,
    "epochs": 20,
    "held_out": 297,
}
SEEDS = [0, 1, 2, 3, 4]
SMALL = {"widths": [16], "depth": 2, "rates": [0.1, 0.3], "batch": 64, "epochs": 1, "held_out": 297}

KINDS = ("everything", "scales and shifts", "as many weights", "read-out only")


def choose(net: nn.Sequential, kind: str) -> list[nn.Parameter]:
    """Return the parameters to be trained; of single weights picked at random, the others get no gradient."""
    norms = [p for m in net if isinstance(m, nn.BatchNorm1d) for p in (m.weight, m.bias)]
    linears = [m for m in net if isinstance(m, nn.Linear)]
    if kind == "everything":
        return list(net.parameters())
    if kind == "scales and shifts":
        return norms
    if kind == "read-out only":
        return list(linears[-1].parameters())
    weights = [m.weight for m in linears]
    picked = torch.randperm(sum(w.numel() for w in weights))[: sum(p.numel() for p in norms)]
    mask = torch.zeros(sum(w.numel() for w in weights)).index_fill(0, picked, 1.0)
    for weight, part in zip(weights, mask.split([w.numel() for w in weights]), strict=True):
        keep = part.view_as(weight)
        weight.register_hook(lambda grad, keep=keep: grad * keep)
    return weights


def errors(
    kind: str, width: int, rate: float, seed: int, settings: dict[str, Any], data: tuple[Tensor, ...]
) -> list[float]:
    """Train once; return the error in per cent on held-out training images and on test images, in evaluation mode."""
    x, y, x_held, y_held, x_test, y_test = data
    torch.manual_seed(seed)
    net = perceptron(nn.BatchNorm1d, settings["depth"], width)
    trained = choose(net, kind)
    for p in set(net.parameters()) - set(trained):
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(trained, lr=rate, momentum=0.9)
    count = len(x) // settings["batch"] * settings["epochs"]
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, count)
    for pick in batches(len(x), settings["batch"], settings["epochs"]):
        step(net, optimizer, x[pick], y[pick])
        slower.step()
    net.eval()
    return [error_percent(net, x_held, y_held), error_percent(net, x_test, y_test)]


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return [held-out error, test error] of each seed, by kind, width and rate."""
    data = split_digits(settings["held_out"])
    return {
        kind: {
            str(width): {
                str(rate): [errors(kind, width, rate, seed, settings, data) for seed in seeds]
                for rate in settings["rates"]
            }
            for width in settings["widths"]
        }
        for kind in KINDS
    }


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return the test errors at the largest width, and what the scales and shifts reach at the smallest."""
    widths = sorted(values["everything"], key=int)
    keys = {"everything": "all", "scales and shifts": "affine", "as many weights": "random", "read-out only": "readout"}
    found = {key: spread(chosen(values[kind][widths[-1]])) for kind, key in keys.items()}
    middle = widths[len(widths) // 2]
    return {
        **found,
        "affine_narrow": spread(chosen(values["scales and shifts"][widths[0]])),
        "affine_middle": spread(chosen(values["scales and shifts"][middle])),
        "readout_middle": spread(chosen(values["read-out only"][middle])),
        "middle": middle,
        "rate_affine": f"{float(best(values['scales and shifts'][widths[-1]])):g}",
        "rate_all": f"{float(best(values['everything'][widths[-1]])):g}",
        "width": widths[-1],
    }


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return the table of test errors: what is trained against the width."""
    widths = sorted(values["everything"], key=int)
    rows = [[kind, *(spread(chosen(values[kind][width])) for width in widths)] for kind in KINDS]
    return {"errors": table(["trained", *(f"width {width}" for width in widths)], rows)}
