"""Do weights before batch norm settle at the predicted length, wherever they start, and turn at the predicted angle?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from _digits import digits, perceptron, step
from _text import mean, spread, table
from torch import nn

QUESTION = "Where does the length of weights before batch norm settle under weight decay, and how fast do they turn?"
EXPECTED = (
    "at the fourth root of eta times the mean squared unit-length gradient over two lambda, from above and from below, "
    "turning by the root of two eta lambda a step, after a few times one over two eta lambda steps; "
    "so the pair with the small product should not be there yet when it starts from above"
)
SETTINGS: dict[str, Any] = {
    "pairs": [[0.4, 0.005], [0.1, 0.02], [0.1, 0.005]],  # learning rate, weight decay
    "starts": [0.05, 2.0],  # times He's initialization
    "steps": 2500,
    "judged": 500,
    "every": 50,
    "batch": 64,
    "random_labels": 0.2,  # or the gradient dies out, and the equilibrium with it
}
SEEDS = range(5)
SMALL = {**SETTINGS, "steps": 100, "judged": 50}
LAYER = 3  # the second hidden linear layer of the network


def train(pair: Sequence[float], start: float, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the length of one layer's weights over training, and the prediction from its last gradients."""
    x, y, _, _ = digits()
    torch.manual_seed(seed)
    net = perceptron(nn.BatchNorm1d, depth=3)
    hidden = [module.weight for module in net[:-1] if isinstance(module, nn.Linear)]
    with torch.no_grad():
        for weight in hidden:
            weight.mul_(start)
    rate, decay = pair
    others = [p for p in net.parameters() if all(p is not weight for weight in hidden)]
    sgd = torch.optim.SGD([{"params": hidden, "weight_decay": decay}, {"params": others}], rate)
    watched = net[LAYER].weight
    lengths, squares, angles = [], [], []
    for t in range(settings["steps"]):
        before = watched.detach().clone()
        batch = torch.randint(len(x), (settings["batch"],))
        chance = torch.rand(len(batch)) < settings["random_labels"]
        step(net, sgd, x[batch], torch.where(chance, torch.randint(10, (len(batch),)), y[batch]))
        length = before.norm().item()
        if t % settings["every"] == 0:
            lengths.append(round(length, 3))
        if t >= settings["steps"] - settings["judged"]:
            squares.append((length * watched.grad.norm().item()) ** 2)  # at unit length, by fact 2
            after = watched.detach()
            angles.append(torch.linalg.vector_norm(after / after.norm() - before / length).item())
    mean_square = sum(squares) / len(squares)
    return {
        "length": lengths,
        "final": round(watched.detach().norm().item(), 4),
        "predicted": round((rate * mean_square / (2 * decay)) ** 0.25, 4),
        "angle": round(sum(angles) / len(angles), 5),
    }


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """Return what `train` gives for each pair, start and seed."""
    return {
        f"{rate:g}, {decay:g}": {
            f"{start:g}": [train((rate, decay), start, settings, seed) for seed in seeds]
            for start in settings["starts"]
        }
        for rate, decay in settings["pairs"]
    }


def each(values: Any, pair: str, start: str, what: str) -> list[float]:
    """Return one quantity for each seed."""
    return [one[what] for one in values[pair][start]]


def turning(pair: str) -> float:
    """Return the predicted angle of a step, the root of two eta lambda."""
    rate, decay = map(float, pair.split(", "))
    return (2 * rate * decay) ** 0.5


def numbers(values: Any) -> dict[str, str]:
    """Return lengths and angles for each pair, named by the product of rate and decay."""
    found = {}
    for name, pair in zip(("first", "second", "slow"), values, strict=True):
        rate, decay = map(float, pair.split(", "))
        found[f"{name}_time"] = f"{1 / (2 * rate * decay):.0f}"
        found[f"{name}_angle_predicted"] = f"{turning(pair):.4f}"
        for side, start in zip(("below", "above"), values[pair], strict=True):
            found[f"{name}_{side}"] = mean(each(values, pair, start, "final"), 2)
            found[f"{name}_{side}_predicted"] = mean(each(values, pair, start, "predicted"), 2)
            found[f"{name}_{side}_angle"] = mean(each(values, pair, start, "angle"), 4)
    return found


def tables(values: Any) -> dict[str, str]:
    """Return measured and predicted length and angle, one row a pair and start."""
    rows = []
    for pair, starts in values.items():
        rate, decay = pair.split(", ")
        for start in starts:
            rows.append(
                [
                    f"{rate}, {decay}, × {start}",
                    spread(each(values, pair, start, "final"), 2),
                    mean(each(values, pair, start, "predicted"), 2),
                    spread(each(values, pair, start, "angle"), 4),
                    f"{turning(pair):.4f}",
                ]
            )
    return {"lengths": table(["rate, decay, start", "length", "predicted length", "turn", "predicted turn"], rows)}
