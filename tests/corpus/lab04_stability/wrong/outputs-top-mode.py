# wrong: outputs_with_companions: restores one mode for all modules instead of each its own
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    was = layer.training
    saved = [(b, b.clone()) for b in layer.buffers()]
    try:
        layer.train()
        with torch.no_grad():
            return torch.stack([layer(torch.cat([x0[None], c]))[0] for c in companions])
    finally:
        layer.train(was)
        with torch.no_grad():
            for b, old in saved: b.copy_(old)
