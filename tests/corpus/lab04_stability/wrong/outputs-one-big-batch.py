# wrong: outputs_with_companions: flattens all sets into one batch when the sets are single companions
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    twin = copy.deepcopy(layer).train()
    K, others, C = companions.shape
    with torch.no_grad():
        if others == 0:
            return twin(x0.expand(K, C).clone())
        return torch.stack([twin(torch.cat([x0[None], c]))[0] for c in companions])
