# wrong: printed_stability: rounds the number to two decimals as in the prediction
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def printed_stability(m):
    if m < 2:
        raise ValueError("m must be at least 2")
    return round((m / (m - 1)) ** 0.5, 2)
