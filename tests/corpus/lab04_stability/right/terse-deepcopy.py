import copy, math, torch
from torch.nn import functional as F
def _t(l): return copy.deepcopy(l).train()
def printed_stability(m):
    if m < 2: raise ValueError("m >= 2, please")
    return math.sqrt(m / (m - 1))
def outputs_with_companions(layer, x0, companions):
    l = _t(layer)
    with torch.no_grad():
        return torch.stack([l(torch.cat([x0[None], c]))[0] for c in companions])
def spread(outputs): return outputs.var(0, unbiased=False).mean().sqrt().item()
def input_gradients(layer, x0, companions, grad_out):
    l, rows = _t(layer), []
    for c in companions:
        z = x0.detach().clone().requires_grad_()
        rows += torch.autograd.grad(l(torch.cat([z[None], c]))[0] @ grad_out, z)
    return torch.stack(rows)
def leak(layer, x, i, j, grad_out):
    z = x.detach().clone().requires_grad_()
    return torch.autograd.grad(_t(layer)(z.clone())[i] @ grad_out, z)[0][j].norm().item()
def stability_table(layers, x0, companions, grad_out=None):
    t = torch.full((len(layers), len(companions)), math.nan, dtype=x0.dtype)
    for r, l in enumerate(layers.values()):
        for k, c in enumerate(companions):
            try: t[r, k] = spread(outputs_with_companions(l, x0, c) if grad_out is None else input_gradients(l, x0, c, grad_out))
            except ValueError: pass
    return t
def train_on_batches(model, x, classes, batches, lr):
    modes = [(m, m.training) for m in model.modules()]
    ps = [p for p in model.parameters() if p.requires_grad]
    out = []
    try:
        model.train()
        for b in batches:
            loss = F.cross_entropy(model(x[b]), classes[b])
            gs = torch.autograd.grad(loss, ps, allow_unused=True)
            with torch.no_grad():
                for p, g in zip(ps, gs):
                    if g is not None: p -= lr * g
            out.append(loss.item())
    finally:
        for m, t in modes: m.training = t
    return out
@torch.no_grad()
def error_rate(model, x, classes, batch_size=None):
    m = copy.deepcopy(model)
    if batch_size is None: return (m.eval()(x.clone()).argmax(1) != classes).double().mean().item()
    m.train(); n = len(x) // batch_size * batch_size
    a = torch.cat([m(x[k:k + batch_size].clone()).argmax(1) for k in range(0, n, batch_size)])
    return (a != classes[:n]).double().mean().item()
def seed_summary(values): return values.mean(0), values.std(0)
