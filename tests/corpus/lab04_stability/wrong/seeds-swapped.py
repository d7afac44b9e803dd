# wrong: seed_summary: torch.std_mean returns the deviation first
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    return torch.std_mean(values, dim=0)
