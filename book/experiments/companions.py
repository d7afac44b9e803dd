"""One image, one trained network, many batches: how sure the network is, by the company that the image is kept in."""

from __future__ import annotations

from typing import Any

import torch
from _conv_net import conv_net, images, train
from _text import mean, table
from torch import nn

QUESTION = "How much does the probability of one image's right class depend on what else is in the batch?"
EXPECTED = "in training mode anything from near 0 to near 1 with few companions, and less spread with more of them."
SETTINGS = {"updates": 100, "batch": 64, "rate": 0.1, "draws": 300, "sizes": [4, 16, 64], "sure": 0.9, "bins": 25}
SEEDS = (0, 1, 2, 3, 4)
SMALL = {**SETTINGS, "updates": 5, "draws": 5}


def run_one(seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train a network, pick an image of which it is fairly sure, and draw its companions many times."""
    x, y, x_test, y_test = images()
    torch.manual_seed(seed)
    net = conv_net(nn.BatchNorm2d)
    train(net, x, y, settings["updates"], settings["batch"], settings["rate"])
    with torch.no_grad():
        alone = net.eval()(x_test).softmax(1)[range(len(y_test)), y_test]
        one = int((alone - settings["sure"]).abs().argmin())
        net.train()
        found: dict[str, Any] = {"evaluation": round(alone[one].item(), 4), "sizes": {}}
        for size in settings["sizes"]:
            seen = []
            for _ in range(settings["draws"]):
                others = torch.randint(len(x_test), (size - 1,))
                batch = torch.cat([x_test[one : one + 1], x_test[others]])
                seen.append(net(batch).softmax(1)[0, y_test[one]])
            p = torch.stack(seen)
            found["sizes"][str(size)] = {
                "counts": torch.histc(p, settings["bins"], 0, 1).int().tolist(),
                **{name: round(getattr(p, name)().item(), 4) for name in ("min", "mean", "max", "std")},
            }
    return found


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return one entry per seed: another network, another image."""
    return [run_one(seed, settings) for seed in seeds]


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote: of the first network the extremes, of all the mean spread."""
    said = {"evaluation": f"{values[0]['evaluation']:.2f}", "networks": str(len(values))}
    for size, seen in values[0]["sizes"].items():
        said[f"low_{size}"], said[f"high_{size}"] = f"{seen['min']:.3f}", f"{seen['max']:.3f}"
        said[f"std_{size}"] = mean([entry["sizes"][size]["std"] for entry in values], 2)
    return said


def tables(values: Any) -> dict[str, str]:
    """Return the extremes for each network."""
    sizes = list(values[0]["sizes"])
    rows = [
        [
            str(k + 1),
            f"{entry['evaluation']:.2f}",
            *(f"{entry['sizes'][size]['min']:.2f} to {entry['sizes'][size]['max']:.2f}" for size in sizes),
        ]
        for k, entry in enumerate(values)
    ]
    head = ["network", "evaluation mode", *(f"with {int(size) - 1} others" for size in sizes)]
    return {"all": table(head, rows)}
