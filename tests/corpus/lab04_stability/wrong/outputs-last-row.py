# wrong: outputs_with_companions: puts x0 below the companions, in the last row rather than the first
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    twin = copy.deepcopy(layer).train()
    with torch.no_grad():
        return torch.stack([twin(torch.cat([c, x0[None]]))[-1] for c in companions])
