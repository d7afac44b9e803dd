# wrong: error_rate: one batch of all examples is judged in evaluation mode
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def error_rate(model, x, classes, batch_size=None):
    twin = copy.deepcopy(model)
    n = len(x)
    with torch.no_grad():
        if batch_size is None or batch_size == n:
            twin.eval()
            return (twin(x.clone()).argmax(1) != classes).double().mean().item()
        twin.train()
        wrong = seen = 0
        for s in range(0, n - batch_size + 1, batch_size):
            part = slice(s, s + batch_size)
            wrong += (twin(x[part].clone()).argmax(1) != classes[part]).sum().item()
            seen += len(classes[part])
        return wrong / seen
