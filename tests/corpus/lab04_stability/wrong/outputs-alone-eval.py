# wrong: outputs_with_companions: an x0 without companions is answered in evaluation mode
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    twin = copy.deepcopy(layer)
    twin.train(companions.shape[1] > 0)
    with torch.no_grad():
        return torch.stack([twin(torch.cat([x0[None], c]))[0] for c in companions])
