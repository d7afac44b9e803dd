# wrong: seed_summary: returns float32 whatever was given
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    v = values.float()
    return v.mean(0), v.std(0)
