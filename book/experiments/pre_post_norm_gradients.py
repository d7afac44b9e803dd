"""How large is a block's gradient before the first step, with the norms behind the sums and inside the branches?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from _decoder import Decoder, characters, loss_of, windows
from _text import mean, spread, table
from torch import Tensor, nn

QUESTION = "How large is the gradient of a decoder's blocks at the start, with post-norm and with pre-norm?"
EXPECTED = (
    "by the derivation, post-norm's last block has a gradient that does not depend on the depth, and pre-norm's "
    "falls in proportion to one over the standard deviation of the stream, so about as the root of the depth"
)
SETTINGS: dict[str, Any] = {"depths": [2, 6, 12, 24], "width": 64, "heads": 4, "length": 64, "batch": 8, "rate": 1e-3}
SEEDS = range(5)
SMALL = {**SETTINGS, "width": 16, "length": 16, "batch": 2}
KINDS = ("post", "pre")


def look(kind: str, depth: int, settings: dict[str, Any], seed: int, text: Tensor) -> dict[str, Any]:
    """Return, per block, the norm of the gradient of its last matrix and the stream's variance; and one Adam step."""
    torch.manual_seed(seed)
    x, y = windows(text, settings["batch"], settings["length"])
    net = Decoder(kind, depth, int(text.max()) + 1, settings["length"], settings["width"], settings["heads"])
    variances: list[float] = []

    def note(_block: nn.Module, _args: tuple[Tensor, ...], out: Tensor) -> None:
        variances.append(out.detach().var(-1, correction=0).mean().item())  # over the features of each token

    handles = [block.register_forward_hook(note) for block in net.blocks]
    loss_of(net, x, y).backward()
    for handle in handles:
        handle.remove()
    sizes = [block.down.weight.grad.norm().item() for block in net.blocks]
    with torch.no_grad():
        before = net(x)
        torch.optim.Adam(net.parameters(), settings["rate"]).step()
        moved = (net(x) - before).norm() / before.norm()
    return {"gradient": sizes, "variance": variances, "moved": moved.item()}


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """Return what `look` sees for both kinds, each depth and each seed."""
    text = characters()
    return {
        "characters": len(text),
        "entropy": torch.distributions.Categorical(torch.bincount(text).double()).entropy().item(),
        **{k: {str(d): [look(k, d, settings, s, text) for s in seeds] for d in settings["depths"]} for k in KINDS},
    }


def end(values: Any, kind: str, depth: str, block: int) -> list[float]:
    """Return the gradient of one block, for each seed."""
    return [seen["gradient"][block] for seen in values[kind][depth]]


def numbers(values: Any) -> dict[str, str]:
    """Return the sizes that the text names."""
    depths = list(values["pre"])
    low, high = depths[0], depths[-1]
    return {
        "characters": f"{values['characters']:,}".replace(",", " "),
        "entropy": f"{values['entropy']:.2f}",
        "post_last_shallow": mean(end(values, "post", low, -1), 2),
        "post_last_deep": mean(end(values, "post", high, -1), 2),
        "post_first_deep": mean(end(values, "post", high, 0), 2),
        "pre_last_shallow": mean(end(values, "pre", low, -1), 2),
        "pre_last_deep": mean(end(values, "pre", high, -1), 2),
        "pre_first_shallow": mean(end(values, "pre", low, 0), 2),
        "pre_first_deep": mean(end(values, "pre", high, 0), 2),
        "pre_variance_deep": mean([seen["variance"][-1] for seen in values["pre"][high]]),
        **{
            f"{kind}_moved_{name}": mean([100 * seen["moved"] for seen in values[kind][depth]], 0)
            for kind in KINDS
            for name, depth in (("shallow", low), ("deep", high))
        },
    }


def tables(values: Any) -> dict[str, str]:
    """Return the gradients of the first and last block, and the effect of one step, against the depth."""
    depths = list(values["pre"])
    head = ["depth", *depths]
    rows = []
    for kind in KINDS:
        for name, block in (("last", -1), ("first", 0)):
            rows.append([f"{kind}, {name} block", *(spread(end(values, kind, d, block), 2) for d in depths)])
    level = []
    for d in depths:
        runs = values["pre"][d]
        level.append(spread([seen["gradient"][-1] * seen["variance"][-1] ** 0.5 for seen in runs], 2))
    rows.append(["pre, last, times std of the stream", *level])
    steps = [
        [f"{kind}-norm", *(spread([100 * seen["moved"] for seen in values[kind][d]], 0) for d in depths)]
        for kind in KINDS
    ]
    return {"sizes": table(head, rows), "steps": table(head, steps)}
