"""How much a layer's gradient changes when the layers below take their step: no norm, batch norm, layer norm."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from _digits import STYLES, MakeNorm, digits, perceptron
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.func import functional_call

STEPS, EVERY, BATCH, RATE, SEEDS = 160, 10, 64, 0.1, 4
NORMS: dict[str, MakeNorm | None] = {"no norm": None, "batch norm": nn.BatchNorm1d, "layer norm": nn.LayerNorm}


def gradients(net: nn.Module, numbers: dict[str, Tensor], x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Return the gradient at these parameters; the module itself, buffers included, stays as it is."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in numbers.items()}
    buffers = {name: value.clone() for name, value in net.named_buffers()}
    loss = F.cross_entropy(functional_call(net, {**leaves, **buffers}, (x,)), y)
    return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))


def run(norm: MakeNorm | None, seed: int, x: Tensor, y: Tensor) -> Tensor:
    """Return |new - old| / |old| for each hidden layer above the first, (times, layers)."""
    torch.manual_seed(seed)
    net = perceptron(norm)
    linears = [int(name) for name, module in net.named_children() if isinstance(module, nn.Linear)]
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    rows = []
    for step in range(STEPS):
        batch = torch.randint(len(x), (BATCH,))
        if step % EVERY == 0:
            numbers = dict(net.named_parameters())
            old = gradients(net, numbers, x[batch], y[batch])
            row = []
            for k in linears[1:-1]:
                moved = {n: v - RATE * old[n] if int(n.split(".")[0]) < k else v for n, v in numbers.items()}
                new = gradients(net, moved, x[batch], y[batch])
                key = f"{k}.weight"
                row.append(float((new[key] - old[key]).norm() / old[key].norm()))
            rows.append(row)
        optimizer.zero_grad()
        F.cross_entropy(net(x[batch]), y[batch]).backward()
        optimizer.step()
    return torch.tensor(rows)


def draw() -> Figure:
    """Draw the median over layers and seeds, with the band that holds half of them."""
    x, y, _, _ = digits()
    figure, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    steps = range(0, STEPS, EVERY)
    for name, norm in NORMS.items():
        colour, line, marker = STYLES[name]
        seen = torch.stack([run(norm, seed, x, y) for seed in range(SEEDS)], 1).flatten(1)  # (times, seeds * layers)
        low, middle, high = torch.quantile(seen, torch.tensor([0.25, 0.5, 0.75]), 1)
        ax.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(steps, middle, line, marker=marker, markersize=4, color=colour, label=name)
    ax.set_ylim(0, None)
    ax.set_xlabel("training steps")
    ax.set_ylabel("relative change of the gradient")
    ax.legend(fontsize=9.5)
    return figure
