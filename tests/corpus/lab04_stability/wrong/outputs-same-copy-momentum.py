# wrong: outputs_with_companions: sets the momentum of batch norm to 0 instead of restoring, the counter still moves
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    modes = [(m, m.training) for m in layer.modules()]
    norms = [(m, m.momentum) for m in layer.modules() if hasattr(m, "momentum")]
    try:
        layer.train()
        for m, _ in norms: m.momentum = 0.0
        with torch.no_grad():
            return torch.stack([layer(torch.cat([x0[None], c]))[0] for c in companions])
    finally:
        for m, old in norms: m.momentum = old
        for m, t in modes: m.training = t
