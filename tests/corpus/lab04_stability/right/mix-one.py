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
    if m in (0, 1) or m < 0:
        raise ValueError("no variance with a batch of %r" % (m,))
    return (m / (m - 1)) ** .5

def outputs_with_companions(layer, x0, companions):
    twin = quiet_copy(layer)
    result = []
    for others in companions.unbind():
        y = twin(torch.row_stack([x0, *others]))
        result.append(y[:1])
    return torch.cat(result)

def spread(outputs):
    return torch.linalg.norm(outputs - outputs.mean(0)) / outputs.numel() ** 0.5

def input_gradients(layer, x0, companions, grad_out):
    twin = quiet_copy(layer)
    gradients = torch.zeros(companions.shape[0], x0.shape[0], dtype=x0.dtype)
    for k, others in enumerate(companions):
        batch = torch.cat([x0.unsqueeze(0), others]).detach().requires_grad_()
        y = twin(batch.clone())
        upstream = torch.zeros_like(y)
        upstream[0] += grad_out
        y.backward(upstream)
        gradients[k] = batch.grad[0]
    return gradients

def leak(layer, x, i, j, grad_out):
    twin = quiet_copy(layer)
    varied = x.detach()[j].clone().requires_grad_()
    batch = x.detach().clone()
    batch[j] = varied
    (twin(batch)[i] * grad_out).sum().backward()
    return math.hypot(*varied.grad.tolist())

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
    was = [m.training for m in model.modules()]
    try:
        model.train()
        losses = []
        for rows in batches:
            optimizer = torch.optim.SGD(model.parameters(), lr)
            optimizer.zero_grad()
            losses.append(F.cross_entropy(model(x[rows]), classes[rows]))
            losses[-1].backward()
            optimizer.step()
        return [l.item() for l in losses]
    finally:
        for m, mode in zip(model.modules(), was):
            m.training = mode

def error_rate(model, x, classes, batch_size=None):
    if batch_size is None:
        answers = quiet_copy(model, False)(x.clone())
        return torch.mean((answers.argmax(dim=1) != classes).float())
    twin = quiet_copy(model, True)
    usable = (len(x) // batch_size) * batch_size
    rates = []
    for rows in torch.arange(usable).view(-1, batch_size):
        rates.append((twin(x[rows]).argmax(dim=1) != classes[rows]).double().mean())
    return torch.stack(rates).mean().item()

def seed_summary(values):
    return torch.mean(values, dim=0), torch.std(values, dim=0, unbiased=True)
