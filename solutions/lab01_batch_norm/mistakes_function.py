"""Mistakes of those who write the layer as a torch.autograd.Function, or BatchNorm2d around a BatchNorm1d.

The right versions of both stand in the variants.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab01_batch_norm.plain import PLAIN_1D, Edit, edit, in_layer
from solutions.lab01_batch_norm.variants_backward import FUNCTION_1D

ROWS = edit(PLAIN_1D, ("class BatchNorm1d(", "class Rows("), ("not in (2, 3)", "not in [2, 3]"))  # as_2d leaves it

WRAPPED = """

class BatchNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.bn = Rows(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError(f"expected (N, C, H, W), got {tuple(x.shape)}")
        return self.bn(x.flatten(2)).view(x.shape)
"""

FRESH = """

class BatchNorm2d(Rows):
    def forward(self, x):
        if x.dim() != 4:
            raise ValueError(f"expected (N, C, H, W), got {tuple(x.shape)}")
        inner = Rows(x.shape[1])
        inner.weight, inner.bias = self.weight, self.bias
        return inner.to(x.dtype)(x.flatten(2)).unflatten(2, x.shape[2:])
"""


def _in_function(ident: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> tuple[Mistake, Mistake]:
    source = edit(FUNCTION_1D, *edits)
    one, two = (
        in_layer(dims, f"function-{ident}", "gradients", title, symptom, hint, anchor, source) for dims in (1, 2)
    )
    return one, two


FUNCTION: tuple[Mistake, ...] = (
    *_in_function(
        "frozen-parameters",
        "The autograd.Function fails when a parameter is frozen",
        "UnboundLocalError in backward: a gradient was never assigned, since nobody needed it.",
        "backward returns one value per input of forward, whatever is needed. What is returned for an input that "
        "needs no gradient?",
        "frozen-backward",
        ("        grad_x = grad_weight = grad_bias = None\n", ""),
    ),
    *_in_function(
        "wrong-need",
        "The autograd.Function asks about the wrong input whether a gradient is needed",
        "With x frozen, weight gets no gradient.",
        "ctx.needs_input_grad has one entry for each argument of forward, in order. Count which one weight is.",
        "frozen-backward",
        ("if ctx.needs_input_grad[1]:", "if ctx.needs_input_grad[0]:"),
    ),
    *_in_function(
        "training-backward-in-evaluation",
        "The autograd.Function uses the gradient of training mode in evaluation too",
        "Training is right; gradients taken in evaluation lack what they should keep.",
        "In evaluation mean and variance don't depend on x. Which terms of the gradient are left then?",
        "frozen-backward",
        ("if not ctx.constant:", "if True:"),
    ),
    in_layer(
        2,
        "function-positions-kept-apart",
        "gradients",
        "The autograd.Function averages its correction terms over the batch only, not over height and width",
        "The output is right; the gradient of x is wrong as soon as there is more than one pixel.",
        "Forward and backward average over the same set. Compare the axes in your two functions.",
        "bn-backward",
        edit(
            FUNCTION_1D,
            ("along = (grad_x * x_hat).mean(axes,", "along = (grad_x * x_hat).mean(0,"),
            ("grad_x - grad_x.mean(axes,", "grad_x - grad_x.mean(0,"),
        ),
    ),
    in_layer(
        2,
        "wrapped-layer",
        "interface",
        "BatchNorm2d keeps a BatchNorm1d inside, so its parameters carry another name",
        "The keys of the state_dict are bn.weight, bn.bias and so on; one from torch.nn can't be loaded.",
        "The computation may be shared, the names may not change. How can a class get another one's attributes as its "
        "own?",
        "as-a-module",
        ROWS + WRAPPED,
    ),
    in_layer(
        2,
        "fresh-layer-in-forward",
        "running",
        "BatchNorm2d makes a new BatchNorm1d in every call",
        "Nothing is remembered: eps, momentum, running statistics and eval() have no effect.",
        "Where do the running statistics live between two calls, if the layer that holds them is new each time?",
        "bn-running-statistics",
        ROWS + FRESH,
    ),
)
