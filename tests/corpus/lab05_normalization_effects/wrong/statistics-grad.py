# wrong: preactivation_statistics: turns gradients on for the parameters
import torch
from torch import nn


def preactivation_statistics(model, x):
    modes = [m.training for m in model.modules()]
    kept = {name: b.clone() for name, b in model.named_buffers()}
    found, handles = [], []

    def hook(layer, inputs, output):
        h = output.reshape(-1, output.shape[-1])
        mean = h.mean(dim=0)
        std = h.std(dim=0, correction=0)
        found.append((mean, std))

    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            handles.append(layer.register_forward_hook(hook))
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    model.requires_grad_(True)
    for name, b in model.named_buffers():
        b.copy_(kept[name])
    return found
