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
    modes = {n: m.training for n, m in layer.named_modules()}
    buffers = {n: b.clone() for n, b in layer.named_buffers()}
    layer.train()
    try:
        with torch.no_grad():
            K = companions.shape[0]
            batches = torch.cat([x0.expand(K, 1, x0.shape[0]), companions], dim=1)
            return torch.stack([layer(batches[k].clone())[0].clone() for k in range(K)])
    finally:
        for n, m in layer.named_modules():
            m.training = modes[n]
        for n, b in layer.named_buffers():
            b.copy_(buffers[n])

def spread(outputs):
    var, _ = torch.var_mean(outputs.double(), dim=0, correction=0)
    return var.mean().sqrt().item()

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
    whole = torch.autograd.functional.jacobian(lambda z: (quiet_copy(layer)(z.clone()) @ grad_out)[i], x)
    return float(whole[j].norm())

def stability_table(layers, x0, companions, grad_out=None):
    def column(others):
        cells = []
        for name in layers.keys():
            args = (layers[name], x0, others)
            try:
                found = outputs_with_companions(*args) if grad_out is None else input_gradients(*args, grad_out)
            except ValueError:
                cells.append(float("nan"))
                continue
            cells.append(float(spread(found)))
        return torch.tensor(cells, dtype=x0.dtype)
    return torch.stack([column(o) for o in companions], dim=1)

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
    twin = quiet_copy(model, mode=batch_size is not None)
    if batch_size is None:
        batch_size = len(x)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, classes), batch_size=batch_size, shuffle=False, drop_last=True)
    hits = [(twin(a).argmax(1) == b).double().mean() for a, b in loader]
    return float(1.0 - torch.stack(hits).mean())

def seed_summary(values):
    import numpy
    a = values.detach().numpy()
    with numpy.errstate(all="ignore"):
        return torch.from_numpy(a.mean(axis=0)), torch.from_numpy(numpy.asarray(a.std(axis=0, ddof=1)))
