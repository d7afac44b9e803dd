# wrong: train_eval_gap: measures in place and leaves the outermost mode everywhere
import copy

import torch
from torch.nn import functional as F


def train_eval_gap(model, x, classes):
    was = model.training
    copied = copy.deepcopy(model)
    with torch.no_grad():
        copied.eval()
        evaluated = copied(x)
        copied.train()
        trained = copied(x)
        batch = F.cross_entropy(trained, classes)
        running = F.cross_entropy(evaluated, classes)
        different = trained.argmax(dim=1) != evaluated.argmax(dim=1)
        changed = different.double().mean()
    model.train(was)
    return {"batch": batch.item(), "running": running.item(), "changed": changed.item()}
