"""Object-oriented: dataclasses, properties, a recorder."""
from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import CrossEntropyLoss

predicted_shift = torch.tensor(1.5).item()
predicted_running_var = torch.tensor([[1.0, 3.0]]).var().item() / 2 + torch.tensor([5.0, 7.0, 9.0]).var().item() / 2
predicted_first_change = 0.0


@dataclass
class Welford:
    """One pass, no short cut."""

    count: int = 0
    mean: Tensor | float = 0.0
    m2: Tensor | float = 0.0

    def add(self, row: Tensor) -> None:
        self.count += 1
        delta = row - self.mean
        self.mean = self.mean + delta / self.count
        self.m2 = self.m2 + delta * (row - self.mean)

    @property
    def std(self) -> Tensor:
        return (self.m2 / self.count).sqrt()


def unit_statistics(h: Tensor) -> tuple[Tensor, Tensor]:
    tool = Welford()
    for row in h.detach().double().reshape(-1, h.shape[-1]):
        tool.add(row)
    return tool.mean.to(h.dtype), tool.std.to(h.dtype)


@dataclass
class Recorder:
    model: nn.Module
    pairs: list = field(default_factory=list)
    handles: list = field(default_factory=list)

    def __post_init__(self):
        for module in self.linears:
            self.handles += [module.register_forward_hook(self)]

    def __call__(self, module, inputs, output):
        self.pairs.append(unit_statistics(output))

    @property
    def linears(self) -> list[nn.Linear]:
        return [m for m in self.model.modules() if isinstance(m, nn.Linear)]

    def close(self):
        for handle in self.handles:
            handle.remove()


def loss_gradients(model: nn.Module, x: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
    twin = copy.deepcopy(model)
    for p in twin.parameters():
        p.requires_grad = True
        p.grad = None
    CrossEntropyLoss()(twin(x.detach().clone()), classes).backward()
    return tuple(torch.zeros_like(p) if p.grad is None else p.grad for p in twin.parameters())


def preactivation_statistics(model, x):
    recorder = Recorder(copy.deepcopy(model))
    with torch.inference_mode(False), torch.no_grad():
        recorder.model(x.clone())
    recorder.close()
    return recorder.pairs


@dataclass
class Modes:
    model: nn.Module

    def __enter__(self):
        self.old = {name: module.training for name, module in self.model.named_modules()}
        return self

    def __exit__(self, *exc):
        for name, module in self.model.named_modules():
            module.training = self.old[name]


def track_training(model, x, classes, batches, lr, probe):
    buffers = []
    with Modes(model):
        model.train()
        frames = [preactivation_statistics(model, probe)]
        for places in batches:
            picked, answers = x[places].detach(), classes[places]
            # loss_gradients works on a copy; the running statistics need one pass of the model itself
            steps = loss_gradients(model, picked, answers)
            with torch.no_grad():
                model(picked)
                for p, step in zip(model.parameters(), steps):
                    p.data.add_(step, alpha=-lr)
            frames.append(preactivation_statistics(model, probe))
    del buffers
    layers = []
    for l, _ in enumerate(frames[0]):
        means = torch.vstack([frame[l][0] for frame in frames])
        stds = torch.vstack([frame[l][1] for frame in frames])
        layers.append((means, stds))
    return layers


class Drift(NamedTuple):
    moved: Tensor
    widened: Tensor


def drift(history, lag=1):
    times = history[0][0].shape[0]
    if lag < 1:
        raise ValueError("lag must be at least 1")
    if times <= lag:
        raise ValueError("too few times")
    moved = torch.stack([((m.roll(-lag, 0) - m).abs() / s).mean(1)[: times - lag] for m, s in history], dim=-1)
    widened = torch.stack([(s.roll(-lag, 0) / s).log().abs().mean(1)[: times - lag] for m, s in history], dim=-1)
    return tuple(Drift(moved, widened))


def train_eval_gap(model, x, classes):
    told = {}
    guesses = []
    for key in ("batch", "running"):
        twin = copy.deepcopy(model)
        twin.train(mode=key == "batch")
        with torch.no_grad():
            out = twin(x.clone())
        told[key] = CrossEntropyLoss(reduction="sum")(out, classes).item() / len(classes)
        guesses.append(out.argmax(dim=-1))
    told["changed"] = torch.ne(*guesses).count_nonzero().item() / len(classes)
    return told


def reestimate(model, batches):
    if len(batches) == 0:
        raise ValueError("no batches")
    kinds = (nn.BatchNorm1d, nn.BatchNorm2d)
    norms = {name: m for name, m in model.named_modules() if isinstance(m, kinds) and m.running_mean is not None}
    tools = {name: (Welford(), Welford()) for name in norms}
    for batch in batches:
        twin = copy.deepcopy(model).train()
        for name in norms:
            twin.get_submodule(name).momentum = 1.0
        with torch.no_grad():
            twin(batch.clone())
        for name, (centre, spread) in tools.items():
            centre.add(twin.get_submodule(name).running_mean)
            spread.add(twin.get_submodule(name).running_var)
    for name, (centre, spread) in tools.items():
        norms[name].running_mean.data.copy_(centre.mean)
        norms[name].running_var.data.copy_(spread.mean)
        norms[name].num_batches_tracked.fill_(centre.count)


def gradient_change(model, x, classes, layer, lr):
    twin = copy.deepcopy(model).train()
    recorder = Recorder(twin)
    recorder.close()
    weight = recorder.linears[layer].weight
    names = [name for name, _ in twin.named_parameters()]
    name = next(n for n, p in twin.named_parameters() if p is weight)
    before = dict(zip(names, loss_gradients(twin, x, classes)))
    for other, p in twin.named_parameters():
        if other == name:
            break
        p.data = p.data - lr * before[other]
    after = dict(zip(names, loss_gradients(twin, x, classes)))
    g, h = before[name], after[name]
    inner = lambda a, b: torch.einsum("ij,ij->", a, b)  # noqa: E731
    return {
        "norm": inner(g, g) ** 0.5,
        "change": inner(g - h, g - h) ** 0.5,
        "cosine": inner(g, h) / (inner(g, g) ** 0.5 * inner(h, h) ** 0.5),
    }


def compare(makers, seeds, x, classes, batches, lr, probe):
    if len(seeds) < 2:
        raise ValueError("an error bar needs two seeds")
    grid = {(name, seed): make(seed) for name, make in makers.items() for seed in seeds}
    widths = None
    for model in grid.values():
        mine = [m.out_features for m in model.modules() if isinstance(m, nn.Linear)]
        if widths is not None and widths != mine:
            raise ValueError("no matched points")
        widths = mine
    result = {}
    for name, make in makers.items():
        rows = torch.stack(
            [drift(track_training(make(seed), x, classes, batches, lr, probe), 1)[0].mean(dim=0) for seed in seeds]
        )
        result[name] = rows.mean(dim=0), rows.std(dim=0, correction=1)
    return result
