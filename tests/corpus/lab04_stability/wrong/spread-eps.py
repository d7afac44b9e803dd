# wrong: spread: adds a small constant below the root, so one draw has no spread 0
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(outputs):
    return torch.sqrt(outputs.var(0, correction=0).mean() + 1e-6)
