"""Honest solutions of lab 5 with other manners: working in place and putting back, classes, odd names, prints, float32 inside."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab05_normalization_effects.plain import PLAIN, edit, in_style

IN_PLACE_GAP = """\
import torch
from torch import nn


def train_eval_gap(model, x, classes):
    kept = {key: value.clone() for key, value in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    criterion = nn.NLLLoss()
    try:
        model.train(False)
        with torch.no_grad():
            one = torch.log_softmax(model(x), dim=-1)
        model.train(True)
        with torch.no_grad():
            two = torch.log_softmax(model(x), dim=-1)
    finally:
        model.load_state_dict(kept)
        for module, mode in zip(model.modules(), modes):
            module.training = mode
    flips = [int(a != b) for a, b in zip(one.max(1).indices.tolist(), two.max(1).indices.tolist())]
    return dict(changed=sum(flips) / len(flips), running=criterion(one, classes), batch=criterion(two, classes))
"""

IN_PLACE_CHANGE = """\
import torch
from torch import nn


def gradient_change(model, x, classes, layer, lr):
    kept = {key: value.clone() for key, value in model.state_dict().items()}
    modes = {module: module.training for module in model.modules()}
    wanted = [m for m in model.modules() if isinstance(m, nn.Linear)][layer].weight
    everything = list(model.parameters())

    def slopes():
        out = model(x)
        picked = out.log_softmax(dim=1).gather(1, classes[:, None])
        return dict(zip(map(id, everything), torch.autograd.grad(-picked.mean(), everything)))

    model.train()
    first = slopes()
    with torch.no_grad():
        for parameter in everything:
            if parameter is wanted:
                break
            parameter.sub_(first[id(parameter)], alpha=lr)
    second = slopes()
    model.load_state_dict(kept)
    for module, mode in modes.items():
        module.training = mode
    a, b = first[id(wanted)], second[id(wanted)]
    return {
        "cosine": float((a / a.norm() * b / b.norm()).sum()),
        "norm": float(a.pow(2).sum() ** 0.5),
        "change": float(torch.linalg.norm(a - b)),
        "note": "for my own table",
    }
"""

WATCHER = """\
import copy

import torch
from torch import nn


class Watcher:
    def __init__(self, model):
        self.model = copy.deepcopy(model)
        self.pairs = []

    def __enter__(self):
        self.handles = [
            module.register_forward_hook(self) for module in self.model.modules() if isinstance(module, nn.Linear)
        ]
        return self

    def __call__(self, module, args, output):
        h = output.detach()
        axes = tuple(range(h.dim() - 1))
        mean = h.mean(dim=axes)
        self.pairs.append([mean, torch.sqrt(((h - mean) ** 2).mean(dim=axes))])

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()


def preactivation_statistics(model, x):
    with Watcher(model) as watcher:
        watcher.model(x)
    return tuple(watcher.pairs)
"""

GREEK_TRACK = """\
import copy as kopie

import torch as τ


def track_training(model, x, classes, batches, lr, probe):
    η, 𝓑 = lr, list(batches)
    vorher = [m.training for m in model.modules()]
    μ, σ = [], []
    for schritt in range(len(𝓑) + 1):
        model.train()
        if schritt:
            ι = 𝓑[schritt - 1]
            for θ in model.parameters():
                θ.grad = None
            ℓ = τ.nn.functional.cross_entropy(model(x[ι]), classes[ι])
            print("loss", ℓ.item())
            ℓ.backward()
            with τ.no_grad():
                [θ.add_(θ.grad, alpha=-η) for θ in model.parameters()]
        blick = preactivation_statistics(kopie.deepcopy(model), probe)
        μ.append([paar[0] for paar in blick])
        σ.append([paar[1] for paar in blick])
    for m, t in zip(model.modules(), vorher):
        m.train(t) if not list(m.children()) else setattr(m, "training", t)
    return [[τ.stack(spalte) for spalte in (links, rechts)] for links, rechts in zip(zip(*μ), zip(*σ))]
"""

GREEK_DRIFT = """\
import warnings

import torch as τ


def drift(history, lag=1):
    Λ = lag
    if Λ < 1 or not all(μ.shape[0] > Λ for μ, _ in history):
        raise ValueError(f"Λ = {Λ}")
    warnings.warn("the drift is per layer")
    dann, jetzt = slice(Λ, None), slice(None, -Λ)
    δ = [(μ[dann] - μ[jetzt]).div(σ[jetzt]).abs().mean(-1) for μ, σ in history]
    ω = [(σ[dann].log() - σ[jetzt].log()).abs().mean(-1) for _, σ in history]
    return [τ.stack(δ, -1), τ.stack(ω, -1)]
"""

WELFORD_COMPARE = """\
import torch
from torch import nn


def compare(makers, seeds, x, classes, batches, lr, probe):
    seeds = list(seeds)
    shapes = set()
    for make in makers.values():
        model = make(seeds[0])
        shapes.add(tuple(m.weight.shape[0] for m in model.modules() if isinstance(m, nn.Linear)))
    if len(shapes) != 1 or len(seeds) < 2:
        raise ValueError("nothing to compare")
    answer = {}
    for name in makers:
        mean, squares = 0.0, 0.0
        for count, seed in enumerate(seeds, start=1):
            history = track_training(makers[name](seed), x, classes, batches, lr, probe)
            steps = [drift([(m[t : t + 2], s[t : t + 2]) for m, s in history])[0][0] for t in range(len(batches))]
            run = sum(steps) / len(steps)
            delta = run - mean
            mean = mean + delta / count
            squares = squares + delta * (run - mean)
        answer[name] = (mean, (squares / (len(seeds) - 1)).sqrt())
    return answer
"""

FLOAT32_STATISTICS = edit(
    PLAIN["preactivation_statistics"],
    ("h = output.reshape(-1, output.shape[-1])", "h = output.reshape(-1, output.shape[-1]).float()"),
    ("found.append((mean, std))", "found.append((mean.to(output.dtype), std.to(output.dtype)))"),
)
FLOAT32_DRIFT = edit(
    PLAIN["drift"],
    ("    for mean, std in history:\n", "    for mean, std in [(m.float(), s.float()) for m, s in history]:\n"),
    (
        "return torch.stack(moved, dim=1), torch.stack(widened, dim=1)",
        "kind = history[0][0].dtype\n    return torch.stack(moved, dim=1).to(kind), torch.stack(widened, dim=1).to(kind)",
    ),
)
FLOAT32_GAP = edit(
    PLAIN["train_eval_gap"],
    ("copied = copy.deepcopy(model)", "copied = copy.deepcopy(model).float()\n    x = x.float()"),
)
FLOAT32_CHANGE = edit(
    PLAIN["gradient_change"],
    ("    model = copy.deepcopy(model)\n", "    model = copy.deepcopy(model).float()\n    x = x.float()\n"),
)

MANNERS: tuple[Variant, ...] = (
    in_style(
        "in-place-and-back", "works on the model itself and loads what it had kept; one more key in a dictionary",
        train_eval_gap=IN_PLACE_GAP, gradient_change=IN_PLACE_CHANGE,
    ),
    in_style("watcher-class", "a class that is its own hook and a context manager", preactivation_statistics=WATCHER),
    in_style("greek", "odd names, prints, warnings, lists for pairs", track_training=GREEK_TRACK, drift=GREEK_DRIFT),
    in_style("welford", "mean and bar over seeds by Welford's method", compare=WELFORD_COMPARE),
    in_style(
        "float32-inside", "float32 inside for models in float64",
        preactivation_statistics=FLOAT32_STATISTICS, drift=FLOAT32_DRIFT, train_eval_gap=FLOAT32_GAP,
        gradient_change=FLOAT32_CHANGE,
    ),
)  # fmt: skip
