# wrong: printed_stability: m = 0 and negative m give a number instead of ValueError
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def printed_stability(m):
    if m == 1:
        raise ValueError("batch of one")
    return math.sqrt(abs(m / (m - 1)))
