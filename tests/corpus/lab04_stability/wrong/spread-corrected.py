# wrong: spread: converts an unbiased variance, which is nan for one draw
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def spread(outputs):
    K = outputs.shape[0]
    return (outputs.var(dim=0) * (K - 1) / K).mean().sqrt().item()
