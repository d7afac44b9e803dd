# wrong: seed_summary: divisor S, with nan for one seed
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    s = values.std(0, correction=0)
    return values.mean(0), s if len(values) > 1 else s * math.nan
