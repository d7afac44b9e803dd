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
    twin = quiet_copy(layer)
    result = []
    for others in companions.unbind():
        y = twin(torch.row_stack([x0, *others]))
        result.append(y[:1])
    return torch.cat(result)

def spread(outputs):
    var, _ = torch.var_mean(outputs.double(), dim=0, correction=0)
    return var.mean().sqrt().item()

def input_gradients(layer, x0, companions, grad_out):
    twin = quiet_copy(layer)
    source = x0.detach().clone().requires_grad_()
    def one(others):
        source.grad = None
        twin(torch.cat((source[None, :], others.detach())))[0].backward(gradient=grad_out)
        return source.grad.detach().clone()
    return torch.stack([one(o) for o in companions])

def leak(layer, x, i, j, grad_out):
    twin = quiet_copy(layer)
    varied = x.detach()[j].clone().requires_grad_()
    batch = x.detach().clone()
    batch[j] = varied
    (twin(batch)[i] * grad_out).sum().backward()
    return math.hypot(*varied.grad.tolist())

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
    import numpy
    a = values.detach().numpy()
    with numpy.errstate(all="ignore"):
        return torch.from_numpy(a.mean(axis=0)), torch.from_numpy(numpy.asarray(a.std(axis=0, ddof=1)))
