# wrong: seed_summary: sum of squares minus square of the sum cancels for a large mean
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    n = len(values)
    mean = values.mean(0)
    if n == 1:
        return mean, mean * math.nan
    return mean, (((values ** 2).sum(0) - n * mean ** 2).clamp(min=0) / (n - 1)).sqrt()
