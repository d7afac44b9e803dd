"""A deep plain network before any training: are inputs still told apart, and how large is the gradient, by layer."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from _style import STYLES
from matplotlib.figure import Figure


def draw() -> Figure:
    """Draw the cosine above and the gradient, relative to the last layer's, below; bars are standard deviations."""
    values = record("depth_at_the_start")["values"]
    layers = values["layers"]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(4.5, 5), sharex=True, layout="constrained")
    for kind in ("no norm", "layer norm", "batch norm"):
        colour, line, marker = STYLES[kind]
        look = {"color": colour, "linewidth": 1.8, "markersize": 4, "capsize": 2.5}
        cosine = np.array([run["cosine"] for run in values["kinds"][kind]])  # (seeds, layers)
        top.errorbar(layers, cosine.mean(0), cosine.std(0, ddof=1), fmt=line + marker, label=kind, **look)
        size = np.array([run["gradient"] for run in values["kinds"][kind]])
        log = np.log10(size / size[:, -1:])
        mean, spread = log.mean(0), log.std(0, ddof=1)
        bottom.errorbar(
            layers,
            10**mean,
            [10**mean - 10 ** (mean - spread), 10 ** (mean + spread) - 10**mean],
            fmt=line + marker,
            **look,
        )
    bottom.plot(
        layers,
        [np.sqrt(np.pi / (np.pi - 1)) ** (layers[-1] - k) for k in layers],
        "-",
        color="black",
        linewidth=0.9,
        zorder=3,
        label="1.211 a layer",
    )
    bottom.set_yscale("log")
    bottom.legend(fontsize=9.5)
    top.set_ylim(0, 1.05)
    top.set_ylabel("cosine of two inputs")
    top.legend(fontsize=9.5, loc="center right")
    bottom.set_ylabel("gradient / last layer's")
    bottom.set_xlabel("layer")
    return figure
