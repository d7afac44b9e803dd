# wrong: spread: mean of squares minus square of mean cancels in float32
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(outputs):
    var = (outputs ** 2).mean(0) - outputs.mean(0) ** 2
    return var.clamp(min=0).mean().sqrt()
