# wrong: seed_summary: a single seed gets a deviation of 0
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    return values.mean(0), torch.nan_to_num(values.std(0))
