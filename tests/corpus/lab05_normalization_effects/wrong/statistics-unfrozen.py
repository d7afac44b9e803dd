# wrong: preactivation_statistics: wants gradients of every parameter afterwards
import torch
from torch import nn

def preactivation_statistics(model, x):
    before = {k: v.clone() for k, v in model.named_buffers()}
    model.requires_grad_(False)
    pairs, hooks = [], []

    def look(layer, given, out):
        h = out.reshape(-1, layer.out_features)
        pairs.append((h.mean(0), torch.sqrt(((h - h.mean(0)) ** 2).mean(0))))

    for layer in model.modules():
        if type(layer) is nn.Linear:
            hooks.append(layer.register_forward_hook(look))
    model(x)
    for hook in hooks:
        hook.remove()
    for k, v in model.named_buffers():
        v.copy_(before[k])
    model.requires_grad_(True)
    return pairs
