# wrong: printed_stability: casts a correct value to float16 precision on the way
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def printed_stability(m):
    if m < 2:
        raise ValueError(m)
    return torch.tensor(m / (m - 1), dtype=torch.float16).sqrt().item()
