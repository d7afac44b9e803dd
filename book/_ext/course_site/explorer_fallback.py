"""What <norm-explorer> shows without JavaScript: its first state as a picture and a table, computed by torch.

It knows the attributes of book/_static/norm-explorer.js and makes the same default tensor; it holds nothing that the
component itself uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from .fallback_text import WrongAttribute, attributes_of, fixed, numbers_of, short

if TYPE_CHECKING:  # torch takes seconds to import, and only pages with a component need it
    from torch import Tensor

EXPLORER = {"shape": "2,4,3", "layer": "batch", "groups": "", "chosen": "0", "values": ""}
# of each layer its name and what the elements of a set have in common (n sample, c channel, g group, p position)
LAYERS = {
    "batch": ("batch norm", "c"),
    "layer": ("layer norm", "n"),
    "token": ("token layer norm", "np"),
    "instance": ("instance norm", "nc"),
    "group": ("group norm", "ng"),
    "rms": ("RMS norm", "np"),
}
WORDS = {"n": "sample", "c": "channel", "g": "group", "p": "position"}
EPS = 1e-5
MOST_ELEMENTS = 96
WIDE, HIGH = 40, 28  # a cell of the picture, in its own units


def default_value(i: int, n: int, c: int) -> float:
    """Return element i of the tensor that the explorer shows when no values are given; channels and samples differ."""
    return ((7 * i * i + 5 * i + 3) % 11 - 5) / 2 * (1 + n % 2) + (0, 4, -3, 2)[c % 4] + n


def default_tensor(shape: list[int]) -> Tensor:
    """Return that tensor, in double precision."""
    import torch

    per_channel = math.prod(shape[2:])
    flat = [
        default_value(i, i // (per_channel * shape[1]), i // per_channel % shape[1]) for i in range(math.prod(shape))
    ]
    return torch.tensor(flat, dtype=torch.float64).view(shape)


def normalize(layer: str, x: Tensor, groups: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return x hat of torch's own layer, and for each element the mean and the variance (RMS: mean square) of its set."""
    import torch
    from torch.nn import functional as F

    channels, rest = x.shape[1], tuple(range(2, x.dim()))
    view = x.view(x.shape[0], groups, channels // groups, *x.shape[2:])
    last = x.movedim(1, -1)
    y = {
        "batch": lambda: F.batch_norm(x, None, None, training=True, eps=EPS),
        "layer": lambda: F.layer_norm(x, x.shape[1:], eps=EPS),
        "token": lambda: F.layer_norm(last, (channels,), eps=EPS).movedim(-1, 1),
        "instance": lambda: F.instance_norm(x, eps=EPS),
        "group": lambda: F.group_norm(x, groups, eps=EPS),
        "rms": lambda: F.rms_norm(last, (channels,), eps=EPS).movedim(-1, 1),
    }[layer]()
    source, axes = {
        "batch": (x, (0, *rest)),
        "layer": (x, (1, *rest)),
        "instance": (x, rest),
        "group": (view, (*rest, x.dim())),
    }.get(layer, (x, (1,)))
    mean = source.mean(axes, keepdim=True)
    power = (source if layer == "rms" else source - mean).square().mean(axes, keepdim=True)
    return y, *(torch.broadcast_to(s, source.shape).reshape(x.shape) for s in (mean, power))


def explorer_fallback(text: str, mark: str) -> str:
    """Return picture and table of a <norm-explorer> with these attributes; mark is an id that the page has not used."""
    import torch

    tag = "norm-explorer"
    about = attributes_of(text, EXPLORER, tag)
    shape = [int(size) for size in numbers_of(about, "shape", tag)]
    if len(shape) not in (3, 4) or min(shape) < 1 or math.prod(shape) > MOST_ELEMENTS:
        raise WrongAttribute(
            f'<{tag} shape="{about["shape"]}">: give N,C,L or N,C,H,W, at most {MOST_ELEMENTS} elements.'
        )
    layer = about["layer"]
    if layer not in LAYERS:
        raise WrongAttribute(f'<{tag} layer="{layer}">: the layers are {", ".join(LAYERS)}.')
    divisors = [d for d in range(1, shape[1] + 1) if shape[1] % d == 0]
    groups = int(numbers_of(about, "groups", tag)[0]) if about["groups"] else divisors[len(divisors) // 2]
    if groups not in divisors:
        raise WrongAttribute(f'<{tag} groups="{groups}"> does not divide {shape[1]} channels.')
    x = default_tensor(shape)
    if about["values"]:
        values = numbers_of(about, "values", tag)
        if len(values) != x.numel():
            raise WrongAttribute(f"<{tag}> got {len(values)} values for {x.numel()} elements.")
        x = torch.tensor(values, dtype=torch.float64).view(shape)
    place = [int(k) for k in numbers_of(about, "chosen", tag)]
    if about["chosen"] == "0":
        place = [0] * len(shape)
    if len(place) != len(shape) or any(not 0 <= k < size for k, size in zip(place, shape, strict=True)):
        raise WrongAttribute(f'<{tag} chosen="{about["chosen"]}"> is no index of a tensor of shape {tuple(shape)}.')

    try:
        y, mean, power = normalize(layer, x, groups)
    except ValueError as refusal:  # a set of one number
        raise WrongAttribute(f"<{tag}>: torch refuses {layer} norm of shape {tuple(shape)}: {refusal}") from None
    name, key = LAYERS[layer]
    labels: dict[str, list[tuple[int, ...]]] = {}
    for flat in range(x.numel()):
        index = tuple(int(k) for k in torch.unravel_index(torch.tensor(flat), shape))
        at = {"n": index[0], "c": index[1], "g": index[1] * groups // shape[1], "p": ", ".join(map(str, index[2:]))}
        labels.setdefault(", ".join(f"{WORDS[k]} {at[k]}" for k in key), []).append(index)
    chosen = tuple(place)
    mine = next(label for label, members in labels.items() if chosen in members)
    name += f", G = {groups}" if layer == "group" else ""
    first, second = ("mean (unused)", "mean square") if layer == "rms" else ("mean μ", "variance v")
    said = (
        f"x[{', '.join(map(str, chosen))}] = {short(x[chosen].item())} is one of the m = {len(labels[mine])} numbers of "
        f"{mine}: {first} = {fixed(mean[chosen].item(), 3)}, {second} = {fixed(power[chosen].item(), 3)}, "
        f"output x̂ = {fixed(y[chosen].item(), 3)}."
    )
    rows = "".join(
        f'<tr><th scope="row">{label}</th><td>{fixed(mean[m[0]].item(), 3)}</td><td>{fixed(power[m[0]].item(), 3)}</td></tr>'
        for label, m in labels.items()
    )
    panels = [
        tensor_picture(x, set(labels[mine]), chosen, mark, short),
        tensor_picture(y, set(labels[mine]), chosen, mark),
    ]
    return f"""
<figure>
<svg width="0" height="0" style="position:absolute" aria-hidden="true"><pattern id="{mark}" width="8" height="8"
patternUnits="userSpaceOnUse"><path d="M-2 2l4-4M0 8l8-8M6 10l4-4" stroke="currentColor" opacity=".45"/></pattern></svg>
<p>Input x, and the set of one number under {name}</p>
{panels[0].replace("<svg ", f'<svg role="img" aria-label="Input x of shape {tuple(shape)}; hatched is {mine}." ')}
<p>Output x̂</p>
{panels[1].replace("<svg ", '<svg role="img" aria-label="Output x hat of the same shape." ')}
<figcaption>{said} With JavaScript, this figure can be played with.</figcaption>
</figure>
<table class="table"><caption>{len(labels)} sets of m = {len(labels[mine])} ({name})</caption>
<thead><tr><th scope="col">set</th><th scope="col">{first}</th><th scope="col">{second}</th></tr></thead>
<tbody>{rows}</tbody></table>
"""


def tensor_picture(
    x: Tensor,
    inside: set[tuple[int, ...]],
    chosen: tuple[int, ...],
    mark: str,
    write: Callable[[float], str] = lambda value: fixed(value, 2),
) -> str:
    """Return a tensor as SVG, a block per sample, channels down and positions across; one set is hatched."""
    import torch

    samples, channels, *space = x.shape
    height = space[0] if len(space) == 2 else 1
    block = WIDE * (space[-1] + 1)
    parts = []
    for index in map(tuple, torch.cartesian_prod(*map(torch.arange, x.shape)).tolist()):
        n, c = index[:2]
        row = c * height + (index[2] if len(space) == 2 else 0)
        left, top = n * block + WIDE + index[-1] * WIDE, 18 + row * HIGH + (c * 5 if len(space) == 2 else 0)
        if index[-1] == 0 and row % height == 0:
            parts.append(f'<text x="{left - 8}" y="{top + 19}" text-anchor="end" opacity=".8">c {c}</text>')
        if index[-1] == 0 and row == 0:
            parts.append(f'<text x="{left}" y="12" opacity=".8">n {n}</text>')
        fill = f"url(#{mark})" if index in inside else "none"
        width = 3 if index == chosen else 1
        parts.append(
            f'<rect x="{left}" y="{top}" width="{WIDE}" height="{HIGH}" fill="{fill}" '
            f'stroke="currentColor" stroke-width="{width}"/>'
            f'<text x="{left + WIDE / 2:g}" y="{top + 19}" text-anchor="middle" stroke="var(--pst-color-background, Canvas)" '
            f'stroke-width="3" paint-order="stroke">{write(x[index].item())}</text>'
        )
    bottom = 22 + channels * (height * HIGH + (5 if len(space) == 2 else 0))
    return (
        f'<svg viewBox="0 0 {samples * block} {bottom}" fill="currentColor" font-size="13" '
        f'style="width:100%;max-width:{samples * block}px">{"".join(parts)}</svg>'
    )
