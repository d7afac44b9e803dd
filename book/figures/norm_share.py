"""The share of a training step that norms take, against the machine's operations per byte: a count, no measurement."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

WIDTH = 768  # of the Transformer block
Work = tuple[float, float]  # operations, numbers moved


def resnet50() -> Iterator[tuple[Work, Work]]:
    """Give the work of each convolution and of the batch norm behind it, one image, forward and backward."""
    shapes = [(3, 64, 7, 112)]
    before = 64
    for width, blocks, side in ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)):
        for block in range(blocks):
            shapes += [(before, width, 1, side), (width, width, 3, side), (width, 4 * width, 1, side)]
            shapes += [(before, 4 * width, 1, side)] * (block == 0)
            before = 4 * width
    for inputs, outputs, kernel, side in shapes:
        x, y = inputs * side**2, outputs * side**2  # a stride's unread inputs are not counted
        # forward: read x, write y; backward: read dy, write dx; read x, dy. The weights are shared by the batch.
        yield (3 * 2 * inputs * kernel**2 * y, 3 * x + 3 * y), (19 * y, 8 * y)


def transformer() -> Iterator[tuple[Work, Work]]:
    """Give the work of one token's linear layers and of the two layer norms; attention's own products are left out."""
    for inputs, outputs in ((1, 3), (1, 1), (1, 4), (4, 1)):
        yield (3 * 2 * inputs * outputs * WIDTH**2, 3 * (inputs + outputs) * WIDTH), (0, 0)
    yield (0, 0), (2 * 21 * WIDTH, 2 * 5 * WIDTH)


def share(pairs: list[tuple[Work, Work]], balance: float, size: int) -> float:
    """Return the norms' share of the time in per cent, each layer as slow as the slower of arithmetic and traffic."""
    rest, norms = (sum(max(work, size * moved * balance) for work, moved in part) for part in zip(*pairs, strict=True))
    return 100 * norms / (norms + rest)


def draw() -> Figure:
    """Draw three lines over balances from 1 to 500 operations per byte."""
    balances = [10 ** (k / 20) for k in range(55)]
    figure, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
    net, block = list(resnet50()), list(transformer())
    for label, pairs, size, style, colour in (
        ("ResNet-50, 32 bits", net, 4, "o-", "#0b57d0"),
        ("ResNet-50, 16 bits", net, 2, "s--", "#c2185b"),
        (f"Transformer, width {WIDTH}, 16 bits", block, 2, "^-.", "#b26a00"),
    ):
        shares = [share(pairs, balance, size) for balance in balances]
        ax.semilogx(balances, shares, style, color=colour, markersize=5, markevery=9, label=label)
    ax.axvspan(100, balances[-1], facecolor="#8a8a8a", alpha=0.18)
    ax.text(225, 2, "accelerators", ha="center", fontsize=9.5)
    ax.set_xlim(1, balances[-1])
    ax.set_ylim(0, 60)
    ax.set_xticks([1, 10, 100], ["1", "10", "100"])
    ax.set_xlabel("operations in the time of one byte")
    ax.set_ylabel("norms' share of the step in %")
    ax.legend(fontsize=9.5, loc="upper left")
    return figure
