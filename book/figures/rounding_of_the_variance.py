"""The relative error of a float32 variance against |mean| / std, for the one-pass and the two-pass formula."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

COUNT, RUNS = 4096, 20


def relative_errors(offset: float) -> tuple[float, float]:
    """Return the median relative error of (one-pass, two-pass) for numbers of mean `offset` and deviation 1."""
    errors = []
    for seed in range(RUNS):
        generator = torch.Generator().manual_seed(seed)
        x = (offset + torch.randn(COUNT, generator=generator, dtype=torch.float64)).float()  # (COUNT,)
        exact = x.double().var(correction=0)
        one_pass = (x * x).mean() - x.mean() ** 2
        two_pass = ((x - x.mean()) ** 2).mean()
        errors.append([abs(float(v) / float(exact) - 1) for v in (one_pass, two_pass)])
    one, two = torch.tensor(errors).median(0).values.tolist()
    return one, two


def draw() -> Figure:
    """Draw both errors on logarithmic axes, with the line (mean/std)^2 times the unit roundoff."""
    offsets = [10 ** (k / 4) for k in range(0, 19)]
    errors = [relative_errors(offset) for offset in offsets]
    figure, ax = plt.subplots(figsize=(4.5, 3.5), layout="constrained")
    unit = torch.finfo(torch.float32).eps / 2
    ax.loglog(offsets, [unit * o * o for o in offsets], ":", color="black", label="u · (mean/std)²")
    ax.loglog(offsets, [e[0] for e in errors], "s-", color="#c2185b", markersize=5, label="one pass")
    ax.loglog(offsets, [e[1] for e in errors], "o--", color="#0b57d0", markersize=5, label="two passes")
    ax.axhline(1, color="#8a8a8a", linewidth=0.8)
    ax.set_ylim(1e-9, 1e3)
    ax.set_xlabel("|mean| / std")
    ax.set_ylabel("relative error of the variance")
    ax.legend(fontsize=9.5, loc="upper left")
    return figure
