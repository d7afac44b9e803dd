# wrong: spread: the argument has another name, a call by keyword fails
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(y):
    return y.var(0, correction=0).mean().sqrt()
