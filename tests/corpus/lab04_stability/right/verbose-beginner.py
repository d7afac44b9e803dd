import copy
import math
import torch
import torch.nn as nn

def printed_stability(m):
    # batch norm divides by m, std by m - 1
    if m == 1 or m <= 0:
        raise ValueError("Expected more than 1 value per channel when training, got m = " + str(m))
    bessel = m / (m - 1)
    answer = bessel ** 0.5
    return answer

def outputs_with_companions(layer, x0, companions):
    my_copy = copy.deepcopy(layer)
    my_copy.train()
    number_of_draws = companions.shape[0]
    all_rows = []
    for k in range(number_of_draws):
        first = x0.reshape(1, -1)
        others = companions[k]
        batch = torch.cat((first, others), dim=0)
        result = my_copy(batch)
        all_rows.append(result[0, :])
    return torch.stack(all_rows, dim=0)

def spread(outputs):
    K = outputs.shape[0]
    D = outputs.shape[1]
    total = 0.0
    for d in range(D):
        column = [float(v) for v in outputs[:, d]]
        mean = sum(column) / K
        var = 0.0
        for v in column:
            var = var + (v - mean) ** 2
        var = var / K
        total = total + var
    return math.sqrt(total / D)

def input_gradients(layer, x0, companions, grad_out):
    my_copy = copy.deepcopy(layer)
    my_copy.train()
    answer = []
    for k in range(companions.shape[0]):
        x = x0.clone().detach()
        x.requires_grad = True
        batch = torch.cat((x.reshape(1, -1), companions[k].detach()), dim=0)
        y = my_copy(batch)
        loss = torch.sum(grad_out * y[0])
        loss.backward()
        answer.append(x.grad.clone())
    return torch.stack(answer)

def leak(layer, x, i, j, grad_out):
    my_copy = copy.deepcopy(layer)
    my_copy.train()
    inp = x.clone().detach()
    inp.requires_grad = True
    y = my_copy(inp + 0)
    loss = torch.sum(grad_out * y[i])
    loss.backward()
    g = inp.grad[j]
    return float(torch.sqrt(torch.sum(g * g)))

def stability_table(layers, x0, companions, grad_out=None):
    rows = []
    for name in layers:
        row = []
        for comp in companions:
            try:
                if grad_out is not None:
                    things = input_gradients(layers[name], x0, comp, grad_out)
                else:
                    things = outputs_with_companions(layers[name], x0, comp)
                row.append(spread(things))
            except ValueError:
                print("refused:", name)
                row.append(float("nan"))
        rows.append(row)
    return torch.tensor(rows, dtype=x0.dtype).reshape(len(layers), len(companions))

def train_on_batches(model, x, classes, batches, lr):
    old_modes = {}
    for name, module in model.named_modules():
        old_modes[name] = module.training
    model.train()
    criterion = nn.CrossEntropyLoss()
    losses = []
    try:
        for rows in batches:
            model.zero_grad()
            loss = criterion(model(x[rows]), classes[rows])
            loss.backward()
            losses.append(loss.item())
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p.copy_(p - lr * p.grad)
    finally:
        for name, module in model.named_modules():
            module.training = old_modes[name]
    return losses

def error_rate(model, x, classes, batch_size=None):
    my_copy = copy.deepcopy(model)
    n = x.shape[0]
    if batch_size is None:
        my_copy.eval()
        batch_size = n
    else:
        my_copy.train()
    wrong = 0
    seen = 0
    start = 0
    while start + batch_size <= n:
        part = x[start:start + batch_size].clone()
        out = my_copy(part)
        for row in range(batch_size):
            guess = int(torch.argmax(out[row]))
            if guess != int(classes[start + row]):
                wrong += 1
            seen += 1
        start += batch_size
    return wrong / seen

def seed_summary(values):
    S = values.shape[0]
    mean = values.sum(dim=0) / S
    if S == 1:
        return mean, torch.full_like(mean, float("nan"))
    diff = values - mean
    std = torch.sqrt((diff * diff).sum(dim=0) / (S - 1))
    return mean, std
