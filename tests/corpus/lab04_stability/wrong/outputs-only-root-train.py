# wrong: outputs_with_companions: sets training on the outermost module only, the ones inside keep evaluation mode
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    twin = copy.deepcopy(layer)
    twin.training = True
    with torch.no_grad():
        return torch.stack([twin(torch.cat([x0[None], c]))[0] for c in companions])
