"""What <running-statistics> shows without JavaScript: the state after all steps, computed by torch's own layer.

It knows the attributes of book/_static/running-statistics.js and draws the same batches; it holds nothing that the
component itself uses.
"""

from __future__ import annotations

import math

from .fallback_text import WrongAttribute, attributes_of, fixed, numbers_of

RUNNING = {
    "momentum": "0.1",
    "batch-size": "8",
    "mean": "3",
    "std": "2",
    "drift": "0",
    "steps": "40",
    "at": "0",
    "seed": "1",
}


def drawn_batches(about: dict[str, float]) -> list[list[float]]:
    """Return the batches that <running-statistics> draws: the same generator, the same sums, the same rounding."""
    state = int(about["seed"])
    batches = []
    for t in range(int(about["steps"])):
        batch = []
        for _ in range(int(about["batch-size"])):
            total = -6.0
            for _ in range(12):
                state = (state * 1664525 + 1013904223) % 2**32
                total += state / 2**32
            value = about["mean"] + about["drift"] * t + about["std"] * total
            batch.append(math.floor(value * 10 + 0.5) / 10)
        batches.append(batch)
    return batches


def running_fallback(text: str) -> str:
    """Return picture and table of a <running-statistics> with these attributes, after all its steps."""
    import torch

    tag = "running-statistics"
    given = attributes_of(text, RUNNING, tag)
    momentum = None if given["momentum"] == "None" else numbers_of(given, "momentum", tag)[0]
    about = {name: numbers_of(given, name, tag)[0] for name in RUNNING if name != "momentum"}
    steps = int(about["steps"])
    if not (1 <= steps <= 200 and 0 <= about["at"] <= steps and 2 <= about["batch-size"] <= 64 and about["std"] > 0):
        raise WrongAttribute(f"<{tag}>: steps 1 to 200, at 0 to steps, batch-size 2 to 64, std above 0.")
    if momentum is not None and not 0 <= momentum <= 1:
        raise WrongAttribute(f'<{tag} momentum="{momentum}">: a number from 0 to 1, or None.')
    layer = torch.nn.BatchNorm1d(1, momentum=momentum, affine=False, dtype=torch.float64)
    rows, lines = [], []
    for t, values in enumerate(drawn_batches(about), 1):
        batch = torch.tensor(values, dtype=torch.float64).unsqueeze(1)  # (m, 1)
        trained = layer.train()(batch)
        gap = (trained - layer.eval()(batch)).abs().mean().item()
        kept = layer.running_mean, layer.running_var
        rows.append([t, batch.mean().item(), kept[0].item(), batch.var().item(), kept[1].item(), gap])
        if t == 1 or t % max(1, steps // 8) == 0 or t == steps:
            lines.append(f'<tr><th scope="row">{t}</th>{"".join(f"<td>{fixed(v, 3)}</td>" for v in rows[-1][1:])}</tr>')
    low, high = min(0.0, *(r[1] for r in rows)), max(r[1] for r in rows) * 1.05
    across = [40 + 270 * r[0] / steps for r in rows]

    def down(value: float) -> float:
        return 150 - 140 * (value - low) / (high - low)

    path = " ".join(f"{a:.1f},{down(r[2]):.1f}" for a, r in zip(across, rows, strict=True))
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{down(r[1]):.1f}" r="2.5" fill="none"/>' for a, r in zip(across, rows, strict=True)
    )
    last = rows[-1]
    heads = ("step", "batch mean", "running mean", "batch variance", "running variance", "gap")
    return f"""
<figure>
<svg role="img" viewBox="0 0 320 170" style="width:100%;max-width:36rem" stroke="currentColor" fill="none" font-size="11"
aria-label="Batch means as circles, the running mean as a line over {steps} steps, from 0 to {fixed(last[2], 2)}.">
<path d="M40 {down(0):.1f}H310M40 10V150" opacity=".5"/><polyline points="40,{down(0):.1f} {path}" stroke-width="2"/>{dots}
<g fill="currentColor" stroke="none"><text x="34" y="{down(0) + 4:.1f}" text-anchor="end">0</text>
<text x="34" y="{down(last[2]) + 4:.1f}" text-anchor="end">{fixed(last[2], 1)}</text>
<text x="310" y="166" text-anchor="end">step {steps}</text></g></svg>
<figcaption>Circles: means of batches of {int(about["batch-size"])} values. Line: running mean, momentum {given["momentum"]}.
With JavaScript, this figure can be played with.</figcaption>
</figure>
<table class="table"><caption>Running statistics of batch norm, momentum {given["momentum"]}; variances unbiased</caption>
<thead><tr>{"".join(f'<th scope="col">{h}</th>' for h in heads)}</tr></thead><tbody>{"".join(lines)}</tbody></table>
"""
