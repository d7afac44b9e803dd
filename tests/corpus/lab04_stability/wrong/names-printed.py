# wrong: printed_stability: the argument has another name, a call by keyword fails
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def printed_stability(batch_size):
    if batch_size < 2:
        raise ValueError(batch_size)
    return math.sqrt(batch_size / (batch_size - 1))
