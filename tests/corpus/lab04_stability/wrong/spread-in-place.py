# wrong: spread: centres its argument in place
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(outputs):
    with torch.no_grad():
        outputs -= outputs.mean(dim=0)
        return float(outputs.pow(2).mean().sqrt())
