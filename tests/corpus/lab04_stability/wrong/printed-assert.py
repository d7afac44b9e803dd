# wrong: printed_stability: an assertion error is not the ValueError that is asked for
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def printed_stability(m):
    assert m >= 2, "batch norm needs two"
    return math.sqrt(m / (m - 1))
