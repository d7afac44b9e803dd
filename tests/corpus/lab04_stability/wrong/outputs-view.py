# wrong: outputs_with_companions: view refuses companions that are not contiguous
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    K, n, C = companions.shape
    flat = companions.view(-1, C) if n else companions.reshape(0, C)
    twin = copy.deepcopy(layer).train()
    with torch.no_grad():
        return torch.stack([twin(torch.cat([x0[None], flat[k * n:(k + 1) * n]]))[0] for k in range(K)])
