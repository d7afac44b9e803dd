# wrong: train_eval_gap: counts only changes from right to wrong
import copy

import torch
from torch.nn import functional as F


def train_eval_gap(model, x, classes):
    copied = copy.deepcopy(model)
    with torch.no_grad():
        copied.eval()
        evaluated = copied(x)
        copied.train()
        trained = copied(x)
        batch = F.cross_entropy(trained, classes)
        running = F.cross_entropy(evaluated, classes)
        different = (trained.argmax(dim=1) == classes) & (evaluated.argmax(dim=1) != classes)
        changed = different.double().mean()
    return {"batch": batch.item(), "running": running.item(), "changed": changed.item()}
