# wrong: spread: takes the root before the mean over the features
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(outputs):
    return float(outputs.std(0, correction=0).mean())
