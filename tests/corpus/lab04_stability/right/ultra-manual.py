import torch, math
import torch.nn.functional as F

def save(layer):
    return ([(m, m.training) for m in layer.modules()],
            [(b, b.detach().clone()) for b in layer.buffers()],
            [(p, p.grad, p.requires_grad) for p in layer.parameters()])

def restore(saved):
    modes, bufs, params = saved
    for m, t in modes: m.training = t
    for b, v in bufs:
        with torch.no_grad(): b.copy_(v)
    for p, g, r in params:
        p.grad = g
        p.requires_grad_(r)

def printed_stability(m):
    if m < 2: raise ValueError("printed_stability: batch norm refuses batches below two, got %d" % m)
    return math.exp(0.5 * (math.log(m) - math.log(m - 1)))

def outputs_with_companions(layer, x0, companions):
    s = save(layer)
    out = []
    try:
        layer.train()
        with torch.no_grad():
            for k in range(companions.size(0)):
                out.append(layer(torch.cat([x0.view(1, -1) if x0.is_contiguous() else x0.unsqueeze(0), companions[k]], 0))[0].clone())
    finally:
        restore(s)
    return torch.stack(out, 0)

def spread(outputs):
    K, D = outputs.shape
    mu = outputs.sum(0) / K
    return float((((outputs - mu) ** 2).sum() / (K * D)) ** 0.5)

def input_gradients(layer, x0, companions, grad_out):
    s = save(layer)
    rows = []
    try:
        layer.train()
        for p, _, _ in s[2]:
            p.grad = None
            p.requires_grad_(False)
        for c in companions:
            v = x0.detach().clone().requires_grad_(True)
            y = layer(torch.cat([v.unsqueeze(0), c.detach()], 0))
            (y[0] * grad_out).sum().backward()
            rows.append(v.grad)
    finally:
        restore(s)
    return torch.stack(rows)

def leak(layer, x, i, j, grad_out):
    s = save(layer)
    try:
        layer.train()
        rows = [r.detach().clone() for r in x]
        rows[j].requires_grad_(True)
        y = layer(torch.stack(rows))
        l = torch.einsum("d,d->", y[i], grad_out)
        g, = torch.autograd.grad(l, [rows[j]])
    finally:
        restore(s)
    return math.sqrt(sum(float(v) ** 2 for v in g))

def stability_table(layers, x0, companions, grad_out=None):
    out = torch.empty(len(layers), len(companions), dtype=x0.dtype)
    r = 0
    for name, layer in layers.items():
        c = 0
        for comp in companions:
            value = float("nan")
            try:
                if grad_out is None: value = spread(outputs_with_companions(layer, x0, comp))
                else: value = spread(input_gradients(layer, x0, comp, grad_out))
            except ValueError as e:
                print(name, "says", e)
            out[r, c] = value
            c += 1
        r += 1
    return out

def train_on_batches(model, x, classes, batches, lr):
    modes = [(m, m.training) for m in model.modules()]
    try:
        model.train()
        ls = []
        for idx in batches:
            logp = F.log_softmax(model(x[idx]), dim=1)
            l = -logp[torch.arange(len(idx)), classes[idx]].mean()
            ps = [p for p in model.parameters() if p.requires_grad]
            gs = torch.autograd.grad(l, ps, allow_unused=True)
            for p, g in zip(ps, gs):
                if g is not None: p.data = p.data - lr * g
            ls.append(l)
        return ls
    finally:
        for m, t in modes: m.training = t

def error_rate(model, x, classes, batch_size=None):
    s = save(model)
    try:
        with torch.no_grad():
            if batch_size is None:
                model.eval()
                p = model(x.clone()).argmax(1)
            else:
                model.train()
                k = x.size(0) // batch_size
                p = torch.cat([model(b.clone()).argmax(1) for b in x[:k * batch_size].chunk(k)])
    finally:
        restore(s)
    return 1 - float((p == classes[:len(p)]).double().mean())

def seed_summary(values):
    S, B = values.shape
    means, stds = [], []
    for b in range(B):
        col = values[:, b].tolist()
        mu = math.fsum(col) / S
        means.append(mu)
        stds.append(math.sqrt(math.fsum((v - mu) ** 2 for v in col) / (S - 1)) if S > 1 else math.nan)
    return torch.tensor(means, dtype=values.dtype), torch.tensor(stds, dtype=values.dtype)
