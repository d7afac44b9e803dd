"""Lab 5, asked with asserts: small networks are trained and measured, and plain loops are the answer."""

# %% set-up
import copy

import torch
from torch import nn
from torch.nn import functional as F


def close(given, wanted, tol=1e-6):
    given, wanted = torch.as_tensor(given).double(), torch.as_tensor(wanted).double()
    assert given.shape == wanted.shape, f"shape {tuple(given.shape)}, expected {tuple(wanted.shape)}"
    assert torch.allclose(given, wanted, rtol=10 * tol, atol=tol), "the values differ"


def network(norm=nn.BatchNorm1d, seed=0):
    torch.manual_seed(seed)
    layers = [nn.Linear(3, 8), norm(8), nn.ReLU(), nn.Linear(8, 6), norm(6), nn.ReLU(), nn.Linear(6, 3)]
    return nn.Sequential(*layers).double()


def data(n=24):
    return torch.randn(n, 3, dtype=torch.float64) * 1.5 + 0.4, torch.arange(n) % 3


def linear_outputs(model, x):
    """Run a copy and return the output of each linear layer."""
    found, model = [], copy.deepcopy(model)
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(lambda m, i, output: found.append(output.detach()))
    with torch.no_grad():
        model(x)
    return found


def snapshot(model):
    state = {name: value.clone() for name, value in model.state_dict().items()}
    modes = [(m.training, len(m._forward_hooks), getattr(m, "momentum", None)) for m in model.modules()]
    return state, modes, [(p.requires_grad, None if p.grad is None else p.grad.clone()) for p in model.parameters()]


def unchanged(model, before):
    state, modes, grads = snapshot(model)
    for name, value in before[0].items():
        assert torch.equal(state[name], value), f"{name} was changed"
    assert modes == before[1], "modes, hooks or momenta were changed"
    for (wants, grad), (wanted, kept) in zip(grads, before[2]):
        assert wants == wanted and (grad is None) == (kept is None), "gradients were left behind"


def trained(model, x, classes, batches, lr, probe):
    """Return a trained copy and what the linear layers showed on the probe before and after each update."""
    model = copy.deepcopy(model).train()
    looks = [linear_outputs(model, probe)]
    for batch in batches:
        grads = torch.autograd.grad(F.cross_entropy(model(x[batch]), classes[batch]), list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), grads):
                p -= lr * g
        looks.append(linear_outputs(model, probe))
    history = [
        (torch.stack([h.mean(0) for h in times]), torch.stack([h.std(0, unbiased=False) for h in times]))
        for times in zip(*looks)
    ]
    return model, history


def some_batches(n=24, count=10):
    return [torch.randperm(n)[:8] for _ in range(count)]


def change_of_gradient(model, x, classes, layer, lr):
    model = copy.deepcopy(model).train()
    weight = [m for m in model.modules() if isinstance(m, nn.Linear)][layer].weight
    parameters = list(model.parameters())
    place = next(k for k, p in enumerate(parameters) if p is weight)
    grads = torch.autograd.grad(F.cross_entropy(model(x), classes), parameters)
    with torch.no_grad():
        for p, g in zip(parameters[:place], grads[:place]):
            p -= lr * g
    (new,) = torch.autograd.grad(F.cross_entropy(model(x), classes), [weight])
    old = grads[place]
    return {"norm": old.norm(), "change": (old - new).norm(), "cosine": (old * new).sum() / (old.norm() * new.norm())}


def check_change(gradient_change, key):
    for norm in (nn.BatchNorm1d, nn.LayerNorm):
        model, (x, classes) = network(norm), data()
        for layer in range(3):
            given = gradient_change(copy.deepcopy(model), x, classes, layer, 0.3)
            close(given[key], change_of_gradient(model, x, classes, layer, 0.3)[key])


def some_history(times=6):
    return [(torch.randn(times, units).double(), torch.rand(times, units).double() + 0.5) for units in (4, 3)]


def drift_of(history, lag):
    moved = [((m[lag:] - m[:-lag]) / s[:-lag]).abs().mean(1) for m, s in history]
    widened = [(s[lag:] / s[:-lag]).log().abs().mean(1) for m, s in history]
    return torch.stack(moved, 1), torch.stack(widened, 1)


def refuses(call, *arguments):
    try:
        call(*arguments)
    except ValueError:
        return
    raise AssertionError("no ValueError")


def compared(makers, seeds, x, classes, batches, lr, probe):
    table = {}
    for kind, make in makers.items():
        runs = [drift_of(trained(make(s), x, classes, batches, lr, probe)[1], 1)[0].mean(0) for s in seeds]
        table[kind] = torch.stack(runs)
    return table


MAKERS = {
    "none": lambda seed: network(nn.Identity, seed),
    "batch": lambda seed: network(nn.BatchNorm1d, seed),
    "layer": lambda seed: network(nn.LayerNorm, seed),
}

# %% fx-predict-shift
assert abs(predicted_shift - 1.5) < 0.01

# %% fx-predict-running-var
assert abs(predicted_running_var - 3) < 0.01

# %% fx-predict-first-change
assert abs(predicted_first_change - 0) < 0.01

# %% fx-units
for shape in ((4, 3), (2, 3, 4)):
    h = 2 * torch.randn(*shape, dtype=torch.float64) + 3
    mean, std = unit_statistics(h)
    close(mean, h.reshape(-1, shape[-1]).mean(0))
    close(std, h.reshape(-1, shape[-1]).std(0, unbiased=False))

# %% fx-gradients
model, (x, classes) = network(), data()
twin = copy.deepcopy(model)
F.cross_entropy(twin(x), classes).backward()
for given, p in zip(loss_gradients(model, x, classes), twin.parameters()):
    close(given, p.grad)
assert all(p.grad is None for p in model.parameters()), "gradients were left behind"

# %% fx-stats-mean
for norm in (nn.BatchNorm1d, nn.LayerNorm):
    model, (x, _) = network(norm), data()
    for (mean, _), h in zip(preactivation_statistics(model, x), linear_outputs(model, x)):
        close(mean, h.mean(0))

# %% fx-stats-std
for norm in (nn.BatchNorm1d, nn.LayerNorm):
    model, (x, _) = network(norm), data()
    for (_, std), h in zip(preactivation_statistics(model, x), linear_outputs(model, x)):
        close(std, h.std(0, unbiased=False))

# %% fx-stats-points
model = nn.Sequential(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), nn.Tanh(), nn.Linear(4, 2)).double()
x, _ = data()
given = preactivation_statistics(model, x)
assert [len(mean) for mean, _ in given] == [4, 2]
for (mean, _), h in zip(given, linear_outputs(model, x)):
    close(mean, h.mean(0))

# %% fx-stats-manners
for training in (True, False):
    model, (x, _) = network().train(training), data()
    before, kept = snapshot(model), x.clone()
    preactivation_statistics(model, x)
    unchanged(model, before)
    assert torch.equal(x, kept)

# %% fx-track-history
for norm in (nn.BatchNorm1d, nn.LayerNorm):
    model, (x, classes), batches = network(norm), data(), some_batches()
    wanted = trained(model, x, classes, batches, 0.3, x[:12])[1]
    given = track_training(model, x, classes, batches, 0.3, x[:12])
    assert len(given) == len(wanted)
    for (means, stds), (m, s) in zip(given, wanted):
        close(means, m)
        close(stds, s)

# %% fx-track-model
for norm in (nn.BatchNorm1d, nn.LayerNorm):
    model, (x, classes), batches = network(norm).eval(), data(), some_batches()
    wanted = trained(model, x, classes, batches, 0.3, x[:12])[0]
    track_training(model, x, classes, batches, 0.3, x[:12])
    for p, q in zip(model.parameters(), wanted.parameters()):
        close(p.detach(), q.detach())

# %% fx-track-running
model, (x, classes), batches = network().eval(), data(), some_batches()
wanted = trained(model, x, classes, batches, 0.3, x[:12])[0]
modes = [m.training for m in model.modules()]
track_training(model, x, classes, batches, 0.3, x[:12])
for p, q in zip(model.buffers(), wanted.buffers()):
    close(p, q)
assert modes == [m.training for m in model.modules()]
assert not any(m._forward_hooks for m in model.modules()), "hooks were left behind"

# %% fx-drift-moved
history = some_history()
close(drift(history)[0], drift_of(history, 1)[0])

# %% fx-drift-widened
history = some_history()
close(drift(history)[1], drift_of(history, 1)[1])

# %% fx-drift-lag
history = some_history()
for lag in (2, 5):
    for given, wanted in zip(drift(history, lag), drift_of(history, lag)):
        close(given, wanted)
refuses(drift, history, 0)
refuses(drift, history, 6)

# %% fx-gap-losses
model, (x, classes) = network(), data()
model(x)
given = train_eval_gap(model, x, classes)
close(given["batch"], F.cross_entropy(copy.deepcopy(model).train()(x), classes).detach())
close(given["running"], F.cross_entropy(copy.deepcopy(model).eval()(x), classes).detach())

# %% fx-gap-changed
model, (x, classes) = network(), data(60)
model(x)
a, b = copy.deepcopy(model).train()(x).argmax(1), copy.deepcopy(model).eval()(x).argmax(1)
close(train_eval_gap(model, x, classes)["changed"], (a != b).double().mean())

# %% fx-gap-manners
for training in (True, False):
    model, (x, classes) = network().train(training), data()
    before, kept = snapshot(model), x.clone()
    train_eval_gap(model, x, classes)
    unchanged(model, before)
    assert torch.equal(x, kept)

# %% fx-precise-average
model, batches = network(), [data(n)[0] for n in (8, 12, 20)]
wanted = copy.deepcopy(model).train()
for m in wanted.modules():
    if isinstance(m, nn.BatchNorm1d):
        m.reset_running_stats()
        m.momentum = None
with torch.no_grad():
    for batch in batches:
        wanted(batch)
reestimate(model, batches)
for p, q in zip(model.buffers(), wanted.buffers()):
    close(p, q)

# %% fx-precise-manners
model, batches = network().eval(), [data(n)[0] for n in (8, 12, 20)]
before = snapshot(model)
reestimate(model, batches)
after = snapshot(model)
assert before[1] == after[1], "modes, hooks or momenta were changed"
for name, _ in model.named_parameters():
    assert torch.equal(before[0][name], after[0][name]), f"{name} was changed"
assert int(model[1].num_batches_tracked) == 3

# %% fx-precise-errors
refuses(reestimate, network(), [])

# %% fx-change-norm
check_change(gradient_change, "norm")

# %% fx-change-change
check_change(gradient_change, "change")

# %% fx-change-cosine
check_change(gradient_change, "cosine")

# %% fx-change-manners
for training in (True, False):
    model, (x, classes) = network().train(training), data()
    before = snapshot(model)
    gradient_change(model, x, classes, 1, 0.3)
    unchanged(model, before)

# %% fx-compare-mean
(x, classes), batches = data(), some_batches()
given, wanted = (f(MAKERS, (0, 1, 2), x, classes, batches, 0.3, x[:12]) for f in (compare, compared))
for kind in MAKERS:
    close(given[kind][0], wanted[kind].mean(0))

# %% fx-compare-bars
(x, classes), batches = data(), some_batches()
given, wanted = (f(MAKERS, (0, 1, 2), x, classes, batches, 0.3, x[:12]) for f in (compare, compared))
for kind in MAKERS:
    close(given[kind][1], wanted[kind].std(0))

# %% fx-compare-matched
(x, classes), batches = data(), some_batches(count=2)
refuses(compare, MAKERS, (0,), x, classes, batches, 0.3, x[:12])
odd = {**MAKERS, "odd": lambda seed: nn.Sequential(nn.Linear(3, 3)).double()}
refuses(compare, odd, (0, 1), x, classes, batches, 0.3, x[:12])
