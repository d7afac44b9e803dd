import copy, numpy as np, torch
from torch import nn
from torch.autograd.functional import vjp

def printed_stability(m):
    if int(m) < 2:
        raise ValueError
    data = np.array([1.0] * 1 + [0.0] * (m - 1))
    return float(data.std(ddof=1) / data.std(ddof=0))

def training_copy(layer):
    twin = copy.deepcopy(layer)
    for p in twin.parameters():
        p.requires_grad_(False)
    return twin.train()

def first_output(twin, companions):
    return lambda z: twin(torch.vstack([z, companions]))[0]

def outputs_with_companions(layer, x0, companions):
    twin = training_copy(layer)
    return torch.stack([first_output(twin, c)(x0) for c in companions])

def spread(outputs):
    a = outputs.detach().cpu().numpy().astype(np.float64)
    return float(np.sqrt(np.mean(np.var(a, axis=0))))

def input_gradients(layer, x0, companions, grad_out):
    twin = training_copy(layer)
    return torch.stack([vjp(first_output(twin, c), x0, grad_out)[1] for c in companions])

def leak(layer, x, i, j, grad_out):
    twin = training_copy(layer)
    return vjp(lambda z: twin(z.clone())[i], x, grad_out)[1][j].norm().item()

def stability_table(layers, x0, companions, grad_out=None):
    if grad_out is None:
        probe = outputs_with_companions
        extra = {}
    else:
        probe = input_gradients
        extra = {"grad_out": grad_out}
    def cell(layer, c):
        try:
            found = probe(layer, x0, c, **extra)
        except ValueError:
            return np.nan
        return spread(found)
    grid = np.array([[cell(l, c) for c in companions] for l in layers.values()])
    return torch.from_numpy(grid).to(x0.dtype)

def train_on_batches(model, x, classes, batches, lr):
    before = [(m, m.training) for m in model.modules()]
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.0, weight_decay=0.0)
    loss_of = nn.CrossEntropyLoss(reduction="mean")
    losses = []
    try:
        for b in batches:
            model.train()
            opt.zero_grad()
            value = loss_of(model(x[b]), classes[b])
            losses.append(value.item())
            value.backward()
            opt.step()
    finally:
        for m, t in before:
            m.training = t
    return losses

def error_rate(model, x, classes, batch_size=None):
    twin = copy.deepcopy(model)
    twin.train(batch_size is not None)
    b = len(x) if batch_size is None else batch_size
    whole = len(x) - len(x) % b
    with torch.inference_mode():
        answers = np.concatenate([twin(p.clone()).numpy().argmax(1) for p in torch.split(x[:whole], b)])
    return float(np.mean(answers != classes[:whole].numpy()))

def seed_summary(values):
    mean = values.mean(dim=0)
    n = values.shape[0]
    var = ((values - mean) ** 2).sum(0) / (n - 1) if n > 1 else torch.full_like(mean, np.nan)
    return (mean, var.sqrt())
