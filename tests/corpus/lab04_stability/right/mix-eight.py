import contextlib
import copy
import math
import torch
import torch.nn.functional as F

def quiet_copy(module, mode=True):
    twin = copy.deepcopy(module)
    twin.requires_grad_(False)
    return twin.train(mode)

def printed_stability(m):
    return torch.tensor([_checked(m)]).double().div(m - 1).sqrt()

def _checked(m):
    if m > 1:
        return m
    raise ValueError("Expected more than 1 value per channel when training")

def outputs_with_companions(layer, x0, companions):
    """A fresh copy for each draw, so that not even the copy remembers."""
    def one(c):
        twin = quiet_copy(layer)
        return twin(torch.nn.functional.pad(c, (0, 0, 1, 0)).index_copy(0, torch.tensor([0]), x0[None]))[0]
    return torch.stack(list(map(one, companions)))

def spread(outputs):
    return torch.linalg.norm(outputs - outputs.mean(0)) / outputs.numel() ** 0.5

def input_gradients(layer, x0, companions, grad_out):
    work = quiet_copy(layer)
    def y0(z, others):
        return (work(torch.cat([z.unsqueeze(0), others], dim=0))[0] * grad_out).sum()
    rows = []
    for others in companions:
        J = torch.autograd.functional.jacobian(lambda z: y0(z, others), x0.detach().clone())
        rows.append(J)
    return torch.stack(rows)

def leak(layer, x, i, j, grad_out):
    mask = torch.zeros(x.shape[0], 1, dtype=x.dtype)
    mask[j] = 1
    leaf = torch.zeros_like(x[j]).requires_grad_()
    out = quiet_copy(layer)(x.detach() + mask * leaf)
    gradient = torch.autograd.grad((out[i] * grad_out).sum(), leaf)[0]
    return gradient.square().sum().sqrt()

def stability_table(layers, x0, companions, grad_out=None):
    rows = []
    for layer in layers.values():
        rows.append([])
        for others in companions:
            try:
                if grad_out is None:
                    rows[-1].append(float(spread(outputs_with_companions(layer, x0, others))))
                else:
                    rows[-1].append(float(spread(input_gradients(layer, x0, others, grad_out))))
            except ValueError:
                rows[-1].append(math.nan)
    return torch.tensor(rows, dtype=x0.dtype)

def train_on_batches(model, x, classes, batches, lr):
    import contextlib
    with contextlib.ExitStack() as stack:
        for module in model.modules():
            stack.callback(setattr, module, "training", module.training)
        model.train()
        model.zero_grad()
        losses = []
        for rows in batches:
            out = model(x[rows])
            loss = (out.logsumexp(1) - out.gather(1, classes[rows][:, None]).squeeze(1)).mean()
            loss.backward()
            losses.append(loss.item())
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p += -lr * p.grad
            model.zero_grad()
    return losses

def error_rate(model, x, classes, batch_size=None):
    twin = quiet_copy(model, batch_size is not None)
    groups = [range(len(x))] if batch_size is None else [
        range(s, s + batch_size) for s in range(0, len(x) - batch_size + 1, batch_size)]
    wrong = total = 0
    for group in groups:
        group = list(group)
        guess = twin(x[group]).topk(1, dim=1).indices.flatten()
        wrong += sum(a != b for a, b in zip(guess.tolist(), classes[group].tolist()))
        total += len(group)
    return wrong / total

def seed_summary(values):
    return torch.mean(values, dim=0), torch.std(values, dim=0, unbiased=True)
