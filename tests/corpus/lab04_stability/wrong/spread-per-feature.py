# wrong: spread: returns a spread for each feature instead of one number
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(outputs):
    return outputs.var(0, correction=0).sqrt()
