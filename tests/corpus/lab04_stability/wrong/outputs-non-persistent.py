# wrong: outputs_with_companions: state_dict leaves out buffers that are not persistent, they stay changed
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    before = copy.deepcopy(layer.state_dict())
    modes = [(m, m.training) for m in layer.modules()]
    layer.train()
    rows = []
    try:
        with torch.no_grad():
            for others in companions:
                rows.append(layer(torch.vstack([x0, others]))[0])
    finally:
        layer.load_state_dict(before)
        for m, t in modes: m.training = t
    return torch.stack(rows)
