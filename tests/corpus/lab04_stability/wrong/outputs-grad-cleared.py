# wrong: outputs_with_companions: throws away what stood in .grad of the parameters
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    modes = [(m, m.training) for m in layer.modules()]
    saved = [(b, b.clone()) for b in layer.buffers()]
    layer.train()
    try:
        rows = [layer(torch.cat([x0[None], c]))[0].detach() for c in companions]
    finally:
        layer.zero_grad()
        with torch.no_grad():
            for b, old in saved: b.copy_(old)
        for m, t in modes: m.training = t
    return torch.stack(rows)
