# wrong: drift: looks at the number of layers where it asks for times
import torch


def drift(history, lag=1):
    times = max(len(history), len(history[0][0]))
    if lag < 1 or lag >= times:
        raise ValueError(f"{times} times hold no two that are {lag} updates apart")
    moved, widened = [], []
    for mean, std in history:
        step = (mean[lag:] - mean[:-lag]) / std[:-lag]
        ratio = torch.log(std[lag:] / std[:-lag])
        moved.append(step.abs().mean(dim=1))
        widened.append(ratio.abs().mean(dim=1))
    return torch.stack(moved, dim=1), torch.stack(widened, dim=1)
