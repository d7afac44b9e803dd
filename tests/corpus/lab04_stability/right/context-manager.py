import contextlib
import torch
from torch import nn, Tensor

@contextlib.contextmanager
def borrowed(module: nn.Module, training: bool = True):
    """Lend a module in a mode; give all of it back."""
    modes = {m: m.training for m in module.modules()}
    tensors = {t: t.detach().clone() for t in [*module.parameters(), *module.buffers()]}
    grads = {p: (p.grad, None if p.grad is None else p.grad.clone()) for p in module.parameters()}
    module.train(training)
    try:
        yield module
    finally:
        for m, mode in modes.items():
            m.training = mode
        with torch.no_grad():
            for t, old in tensors.items():
                t.copy_(old)
        for p, (g, old) in grads.items():
            p.grad = g
            if g is not None:
                g.copy_(old)

def printed_stability(m: int) -> float:
    if m < 2:
        raise ValueError(f"a batch of {m} has no variance")
    return (1 - 1 / m) ** -0.5

def outputs_with_companions(layer, x0, companions):
    with borrowed(layer), torch.no_grad():
        batches = torch.cat((x0.expand(companions.shape[0], 1, -1), companions), dim=1)
        return torch.stack([layer(b.clone())[0] for b in batches.unbind(0)])

def spread(outputs: Tensor):
    centred = outputs - outputs.mean(dim=0, keepdim=True)
    return centred.square().mean().sqrt()

def input_gradients(layer, x0, companions, grad_out):
    with borrowed(layer), torch.enable_grad():
        leaf = x0.detach().repeat(companions.shape[0], 1).requires_grad_()
        total = sum((layer(torch.cat((row.unsqueeze(0), c)))[0] * grad_out).sum() for row, c in zip(leaf, companions))
        (gradient,) = torch.autograd.grad(total, leaf)
    return gradient

def leak(layer, x, i, j, grad_out):
    with borrowed(layer), torch.enable_grad():
        leaf = x[j].detach().clone().requires_grad_()
        batch = torch.cat((x[:j].detach(), leaf.unsqueeze(0), x[j + 1:].detach()))
        (gradient,) = torch.autograd.grad(layer(batch)[i].dot(grad_out), leaf)
    return torch.linalg.vector_norm(gradient)

def _entry(layer, x0, c, grad_out):
    try:
        values = outputs_with_companions(layer, x0, c) if grad_out is None else input_gradients(layer, x0, c, grad_out)
    except ValueError:
        return torch.tensor(float("nan"), dtype=x0.dtype)
    return spread(values).to(x0.dtype)

def stability_table(layers, x0, companions, grad_out=None):
    flat = [_entry(layer, x0, c, grad_out) for layer in layers.values() for c in companions]
    return torch.stack(flat).view(len(layers), len(companions))

def train_on_batches(model, x, classes, batches, lr):
    modes = {m: m.training for m in model.modules()}
    model.train()
    losses = []
    try:
        if len(batches):
            sgd = torch.optim.SGD(model.parameters(), lr=lr)
        for rows in batches:
            sgd.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(x[rows]), classes[rows])
            loss.backward()
            sgd.step()
            losses.append(loss.detach())
    finally:
        for m, mode in modes.items():
            m.training = mode
    return losses

def error_rate(model, x, classes, batch_size=None):
    size = x.shape[0] if batch_size is None else batch_size
    with borrowed(model, batch_size is not None), torch.no_grad():
        wrong = [model(xs.clone()).argmax(dim=-1).ne(ys) for xs, ys in zip(x.split(size), classes.split(size)) if len(xs) == size]
    return torch.cat(wrong).float().mean()

def seed_summary(values):
    std, mean = torch.std_mean(values, dim=0, correction=1)
    return mean, std
