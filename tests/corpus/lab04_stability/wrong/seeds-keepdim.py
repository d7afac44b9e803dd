# wrong: seed_summary: keeps the dimension of the seeds, shape (1, B)
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    return values.mean(0, keepdim=True), values.std(0, keepdim=True)
