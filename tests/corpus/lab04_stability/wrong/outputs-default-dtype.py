# wrong: outputs_with_companions: collects the rows in a tensor of the default dtype, so float64 is lost
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    twin = copy.deepcopy(layer).train()
    with torch.no_grad():
        rows = [twin(torch.cat([x0[None], c]))[0].tolist() for c in companions]
    return torch.tensor(rows)
