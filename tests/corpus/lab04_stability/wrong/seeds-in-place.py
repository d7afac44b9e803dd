# wrong: seed_summary: centres the values of the caller in place
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    mean = values.mean(0)
    values -= mean
    n = len(values)
    return mean, (values.square().sum(0) / (n - 1)).sqrt() if n > 1 else mean * math.nan
