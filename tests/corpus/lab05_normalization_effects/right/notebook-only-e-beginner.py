import copy
import torch
from torch import nn
import torch.nn.functional as F

predicted_shift = 1.5
predicted_running_var = 3.0
predicted_first_change = 0.0



def unit_statistics(h):
    """Loop over the units, one by one."""
    assert isinstance(h, torch.Tensor)
    units = h.shape[-1]
    means = []
    stds = []
    for j in range(units):
        column = h[..., j].detach().reshape(-1)
        mean = column.mean()
        # second correction: the mean of the differences to the mean
        mean = mean + (column - mean).mean()
        differences = column - mean
        means.append(mean)
        stds.append(torch.sqrt((differences * differences).mean()))
    return torch.stack(means), torch.stack(stds)


def loss_gradients(model, x, classes):
    loss = F.cross_entropy(model(x), classes)
    gradients = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            g = torch.autograd.grad(loss, parameter, retain_graph=True, allow_unused=True)[0]
            if g is None:
                g = torch.zeros_like(parameter)
        else:
            g = torch.zeros_like(parameter)
        gradients.append(g)
    return gradients


def preactivation_statistics(model, x):
    the_copy = copy.deepcopy(model)
    answer = []

    def my_hook(module, inputs, output):
        pair = unit_statistics(output)
        answer.append((pair[0], pair[1]))

    number = 0
    for name, module in the_copy.named_modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(my_hook)
            number = number + 1
    the_copy(x.detach().clone())
    return answer


def track_training(model, x, classes, batches, lr, probe):
    modes_before = []
    for module in model.modules():
        modes_before.append(module.training)
    flags_before = []
    for p in model.parameters():
        flags_before.append(p.requires_grad)
        p.requires_grad = True
    model.train()
    all_looks = []
    all_looks.append(preactivation_statistics(model, probe))
    for number in range(len(batches)):
        places = batches[number]
        my_x = x[places].detach()
        my_classes = classes[places]
        gradients = loss_gradients(model, my_x, my_classes)
        with torch.no_grad():
            i = 0
            for p in model.parameters():
                new_value = p - lr * gradients[i]
                p.copy_(new_value)
                i = i + 1
        all_looks.append(preactivation_statistics(model, probe))
    i = 0
    for module in model.modules():
        module.training = modes_before[i]
        i = i + 1
    i = 0
    for p in model.parameters():
        p.requires_grad = flags_before[i]
        i = i + 1
    number_of_layers = len(all_looks[0])
    result = []
    for layer in range(number_of_layers):
        means = []
        stds = []
        for look in all_looks:
            means.append(look[layer][0])
            stds.append(look[layer][1])
        result.append((torch.stack(means), torch.stack(stds)))
    return result


def drift(history, lag=1):
    L = len(history)
    times = history[0][0].shape[0]
    if lag < 1:
        raise ValueError("The lag must be 1 or more, but it is " + str(lag))
    if times <= lag:
        raise ValueError("There are only " + str(times) + " times")
    moved = torch.zeros(times - lag, L, dtype=history[0][0].dtype)
    widened = torch.zeros(times - lag, L, dtype=history[0][0].dtype)
    for l in range(L):
        means, stds = history[l]
        units = means.shape[1]
        for t in range(times - lag):
            for j in range(units):
                moved[t, l] += abs(means[t + lag, j] - means[t, j]) / stds[t, j] / units
                widened[t, l] += abs(torch.log(stds[t + lag, j]) - torch.log(stds[t, j])) / units
    return (moved, widened)


def train_eval_gap(model, x, classes):
    a = copy.deepcopy(model)
    b = copy.deepcopy(model)
    a.train()
    b.eval()
    out_a = a(x).detach()
    out_b = b(x).detach()
    changed = 0
    for i in range(x.shape[0]):
        if out_a[i].argmax() != out_b[i].argmax():
            changed = changed + 1
    result = {}
    result["batch"] = F.cross_entropy(out_a, classes).item()
    result["running"] = F.cross_entropy(out_b, classes).item()
    result["changed"] = changed / x.shape[0]
    return result


def reestimate(model, batches):
    if len(batches) == 0:
        raise ValueError("There are no batches!")
    modes_before = [module.training for module in model.modules()]
    momentum_before = {}
    for name, module in model.named_modules():
        if isinstance(module, nn.BatchNorm1d) or isinstance(module, nn.BatchNorm2d):
            momentum_before[name] = module.momentum
            module.reset_running_stats()
            module.momentum = None
    if len(momentum_before) == 0:
        return None
    model.train()
    with torch.no_grad():
        for batch in batches:
            model(batch)
    for name, module in model.named_modules():
        if name in momentum_before:
            module.momentum = momentum_before[name]
    for module, mode in zip(model.modules(), modes_before):
        module.training = mode
    return model


def gradient_change(model, x, classes, layer, lr):
    x = x.detach()
    the_copy = copy.deepcopy(model)
    the_copy.train()
    for p in the_copy.parameters():
        p.requires_grad_(True)
    counter = -1
    my_weight = None
    for module in the_copy.modules():
        if isinstance(module, nn.Linear):
            counter = counter + 1
            if counter == layer:
                my_weight = module.weight
    assert my_weight is not None
    first = loss_gradients(the_copy, x, classes)
    G = None
    with torch.no_grad():
        for p, g in zip(the_copy.parameters(), first):
            if p is my_weight:
                G = g
                break
            p.copy_(p - lr * g)
    loss = F.cross_entropy(the_copy(x), classes)
    H = torch.autograd.grad(loss, my_weight)[0]
    norm_G = (G**2).sum() ** 0.5
    norm_H = (H**2).sum() ** 0.5
    change = ((G - H) ** 2).sum() ** 0.5
    return {"norm": norm_G.item(), "change": change.item(), "cosine": ((G * H).sum() / (norm_G * norm_H)).item()}


def compare(makers, seeds, x, classes, batches, lr, probe):
    if len(seeds) < 2:
        raise ValueError("One run has no error bar")
    lists = []
    for name in makers.keys():
        model = makers[name](seeds[0])
        numbers = []
        for module in model.modules():
            if isinstance(module, nn.Linear):
                numbers.append(module.out_features)
        lists.append(numbers)
    for numbers in lists:
        if numbers != lists[0]:
            raise ValueError("The kinds have no matched points")
    result = {}
    for name in makers.keys():
        values = []
        for seed in seeds:
            model = makers[name](seed)
            history = track_training(model, x, classes, batches, lr, probe)
            moved, widened = drift(history)
            values.append(moved.sum(dim=0) / moved.shape[0])
        values = torch.stack(values)
        mean = values.mean(dim=0)
        bar = torch.sqrt(((values - mean) ** 2).sum(dim=0) / (len(seeds) - 1))
        result[name] = (mean, bar)
    return result
