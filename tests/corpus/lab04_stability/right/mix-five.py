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
    import statistics
    if m < 2:
        raise ValueError("variance requires at least two data points")
    x = list(range(m))
    return statistics.stdev(x) / statistics.pstdev(x)

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
    return torch.linalg.norm(outputs - outputs.mean(0)) / outputs.numel() ** 0.5

def input_gradients(layer, x0, companions, grad_out):
    twin = quiet_copy(layer)
    source = x0.detach().clone().requires_grad_()
    def one(others):
        source.grad = None
        twin(torch.cat((source[None, :], others.detach())))[0].backward(gradient=grad_out)
        return source.grad.detach().clone()
    return torch.stack([one(o) for o in companions])

def leak(layer, x, i, j, grad_out):
    whole = torch.autograd.functional.jacobian(lambda z: (quiet_copy(layer)(z.clone()) @ grad_out)[i], x)
    return float(whole[j].norm())

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
    modes = {module: module.training for module in model.modules()}
    def step(rows):
        model.train()
        loss = F.nll_loss(model(x[rows]).log_softmax(-1), classes[rows])
        names = [p for p in model.parameters() if p.requires_grad]
        slopes = torch.autograd.grad(loss, names, allow_unused=True)
        with torch.no_grad():
            for p, slope in zip(names, slopes):
                if slope is not None:
                    p.sub_(slope.mul(lr))
        return float(loss)
    try:
        return tuple(step(rows) for rows in batches)
    finally:
        for module, mode in modes.items():
            module.training = mode

def error_rate(model, x, classes, batch_size=None):
    twin = quiet_copy(model, mode=batch_size is not None)
    if batch_size is None:
        batch_size = len(x)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, classes), batch_size=batch_size, shuffle=False, drop_last=True)
    hits = [(twin(a).argmax(1) == b).double().mean() for a, b in loader]
    return float(1.0 - torch.stack(hits).mean())

def seed_summary(values):
    return torch.mean(values, dim=0), torch.std(values, dim=0, unbiased=True)
