# wrong: printed_stability: returns nan for m = 1 rather than raising
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def printed_stability(m):
    if m < 1:
        raise ValueError("m must be positive")
    return math.sqrt(m / (m - 1)) if m > 1 else math.nan
