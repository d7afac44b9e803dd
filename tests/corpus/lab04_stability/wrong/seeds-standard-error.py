# wrong: seed_summary: the standard error of the mean instead of the deviation
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(values):
    return values.mean(0), values.std(0) / values.shape[0] ** 0.5
