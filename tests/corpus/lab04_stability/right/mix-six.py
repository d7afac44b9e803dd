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
    twin = quiet_copy(layer)
    result = []
    for others in companions.unbind():
        y = twin(torch.row_stack([x0, *others]))
        result.append(y[:1])
    return torch.cat(result)

def spread(outputs):
    """Pure python."""
    table = outputs.tolist()
    K = len(table)
    variances = []
    for column in zip(*table):
        centre = math.fsum(column) / K
        variances.append(math.fsum((v - centre) ** 2 for v in column) / K)
    return (math.fsum(variances) / len(variances)) ** 0.5

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
    twin = quiet_copy(layer)
    varied = x.detach()[j].clone().requires_grad_()
    batch = x.detach().clone()
    batch[j] = varied
    (twin(batch)[i] * grad_out).sum().backward()
    return math.hypot(*varied.grad.tolist())

def stability_table(layers, x0, companions, grad_out=None):
    import itertools
    nan = x0.new_tensor(float("nan"))
    table = nan.repeat(len(layers), len(companions))
    for (r, layer), (c, others) in itertools.product(enumerate(layers.values()), enumerate(companions)):
        with contextlib.suppress(ValueError):
            seen = (outputs_with_companions(layer, x0, others) if grad_out is None
                    else input_gradients(layer, x0, others, grad_out))
            table[r, c] = spread(seen)
    return table

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
    S = values.size(0)
    mean = values.mean(0)
    std = torch.full_like(mean, float("nan")) if S == 1 else ((values - mean).pow(2).sum(0) / (S - 1)).sqrt()
    return mean, std
