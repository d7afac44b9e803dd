# wrong: spread: subtracts one mean over all entries instead of one per feature
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(outputs):
    return torch.sqrt(((outputs - outputs.mean()) ** 2).mean())
