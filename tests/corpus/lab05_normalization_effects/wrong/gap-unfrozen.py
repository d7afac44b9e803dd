# wrong: train_eval_gap: wants gradients of every parameter afterwards
import copy
import torch
from torch.nn import functional as F

def train_eval_gap(model, x, classes):
    state, modes = [b.clone() for b in model.buffers()], [(m, m.training) for m in model.modules()]
    for p in model.parameters():
        p.requires_grad = False
    a = model.eval()(x)
    b = model.train()(x)
    for buffer, old in zip(model.buffers(), state):
        buffer.copy_(old)
    for m, mode in modes:
        m.training = mode
    for p in model.parameters():
        p.requires_grad = True
    return dict(batch=float(F.cross_entropy(b, classes)), running=float(F.cross_entropy(a, classes)),
                changed=float((a.argmax(1) != b.argmax(1)).double().mean()))
