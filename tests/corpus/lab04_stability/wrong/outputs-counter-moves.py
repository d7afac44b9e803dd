# wrong: outputs_with_companions: restores only running_mean and running_var, num_batches_tracked moves
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    modes = [(m, m.training) for m in layer.modules()]
    saved = [(b, b.clone()) for b in layer.buffers() if b.is_floating_point()]
    layer.train()
    try:
        with torch.no_grad():
            return torch.stack([layer(torch.cat([x0[None], c]))[0] for c in companions])
    finally:
        for m, t in modes: m.training = t
        for b, old in saved: b.copy_(old)
