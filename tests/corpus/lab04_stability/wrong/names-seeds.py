# wrong: seed_summary: the argument has another name, a call by keyword fails
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def seed_summary(errors):
    return errors.mean(0), errors.std(0)
