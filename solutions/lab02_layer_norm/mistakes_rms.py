"""Mistakes in RMSNorm."""

from __future__ import annotations

from solutions.lab02_layer_norm.plain import FINFO, FORWARD, RMS_AFFINE, RMS_AXES, RMS_HAT, SQUARE, WEIGHT, in_rms

EPS_HINT = (
    "eps=None means the eps of x's dtype, 1.2e-7 for float32 and 2.2e-16 for float64. Print the eps that you use."
)
ROOT_HINT = "The root mean square of a row of the output must be 1. What is yours?"

INHERITS = """\
from torch import nn


class RMSNorm(nn.RMSNorm):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__(normalized_shape, eps, elementwise_affine)
"""

RMS = (
    in_rms(
        "function-of-torch", "output", "torch's own rms_norm does the work",
        "The report names the operator that ran.",
        "The task is to write what this call does. Start from the formula and put each symbol into a line.",
        "the-set", (RMS_HAT, "x_hat = nn.functional.rms_norm(x, self.normalized_shape, None, eps)"),
    ),
    in_rms(
        "inherits", "interface", "The class inherits from torch's own RMSNorm",
        "The report names the class. Whatever forward adds, the parent does the work.",
        "The task is to write what this layer does. Start from the formula and put each symbol into a line.",
        "as-a-module", source=INHERITS,
    ),
    in_rms(
        "mean-subtracted", "output", "The mean is subtracted first",
        "That is layer norm without its bias. A row of equal numbers gives 0; it should give 1.",
        "Which line of the formula contains a mean of x itself?",
        "the-set", (SQUARE, "x = x - x.mean(dim=axes, keepdim=True)\n        " + SQUARE),
    ),
    in_rms(
        "standard-deviation", "output", "x is divided by the standard deviation, not by the root mean square",
        "A row far from 0 comes out far too large.",
        "Around what is the spread measured in RMSNorm: the mean of the row, or 0?",
        "the-set", (SQUARE, "mean_square = x.var(dim=axes, keepdim=True, unbiased=False)"),
    ),
    in_rms(
        "sum-of-squares", "output", "The squares are summed, not averaged",
        "Rows of the output have length 1, so their root mean square is 1 / sqrt(D).",
        ROOT_HINT, "the-set", (SQUARE, SQUARE.replace(".mean(", ".sum(")), seen_in=("A085",),
    ),
    in_rms(
        "one-value-less", "output", "The sum of the squares is divided by D - 1",
        "Outputs are too small by sqrt((D - 1) / D); a single value gives 0.",
        "The -1 belongs to an estimated mean. Is there one here?",
        "the-set",
        (SQUARE, "mean_square = (x**2).sum(dim=axes, keepdim=True) / (torch.Size(self.normalized_shape).numel() - 1)"),
    ),
    in_rms(
        "root-missing", "output", "x is divided by the mean square, not by its root",
        "Multiplying a row by 10 divides its output by 10; it should change nothing.",
        ROOT_HINT, "the-set", (RMS_HAT, "x_hat = x / (mean_square + eps)"),
    ),
    in_rms(
        "multiplied-by-the-root", "output", "x is multiplied by the root mean square",
        "Multiplying a row by 10 multiplies its output by 100.",
        ROOT_HINT, "the-set", (RMS_HAT, "x_hat = x * torch.sqrt(mean_square + eps)"), seen_in=("A017",),
    ),
    in_rms(
        "eps-outside-root", "output", "eps is added to the root mean square, not under the root",
        "Far off for eps=0.5; at the default only for tiny rows.",
        "Where does eps stand in the formula?",
        "epsilon", (RMS_HAT, "x_hat = x / (torch.sqrt(mean_square) + eps)"), seen_in=("A004",),
    ),
    in_rms(
        "eps-after-rescaling", "output", "x is divided by its largest number first, and eps is added after that",
        "eps counts for more, the larger the row is; a row of zeros gives NaN.",
        "Against what is eps small: against x as it came, or against x after your rescaling?",
        "epsilon",
        (SQUARE, "x = x / x.abs().amax(dim=axes, keepdim=True)\n        " + SQUARE), seen_in=("A028",),
    ),
    in_rms(
        "axis-before-last", "output", "The mean square is taken over the axis before the last",
        "Where there are as many tokens as features, no error can warn you.",
        "Which numbers share a mean square: those of a token, or those of a feature?",
        "the-set", (RMS_AXES, "axes = (-2,) if len(self.normalized_shape) == 1 else (-2, -1)"), seen_in=("A086",),
    ),
    in_rms(
        "whole-tensor", "output", "One mean square for the whole tensor",
        "The rows of the output have different sizes.",
        "Which numbers share a mean square? Count how many there should be.",
        "the-set", (SQUARE, "mean_square = (x**2).mean()"),
    ),
    in_rms(
        "weight-forgotten", "output", "weight is there, but forward never uses it",
        "Nothing as long as it is 1; training never moves it.",
        "Give weight random numbers. Does the output change?",
        "affine", (RMS_AFFINE, RMS_AFFINE.replace("self.weight * x_hat", "x_hat + 0 * self.weight.sum()")),
    ),
    in_rms(
        "input-added", "output", "x is added to the output",
        "The output is that of a residual block, x + norm(x).",
        "A skip connection belongs to the block around the layer. What does the layer alone return?",
        "the-set", (RMS_AFFINE, RMS_AFFINE.replace("self.weight * x_hat", "x + self.weight * x_hat")), seen_in=("A110",),
    ),
    in_rms(
        "scale", "interface", "The parameter is called scale",
        "A state_dict from torch.nn can't be loaded: missing weight, unexpected scale.",
        "The names of parameters are part of a module's interface. Which name does the task give?",
        "as-a-module",
        (WEIGHT, WEIGHT.replace("self.weight", "self.scale")),
        ("if self.weight is None", "if self.scale is None"),
        ("y = self.weight * x_hat", "y = self.scale * x_hat"),
    ),
    in_rms(
        "has-a-bias", "interface", "There is a bias",
        "parameters() holds two; RMSNorm of torch.nn has one.",
        "Look for an addition in the formula.",
        "affine",
        (WEIGHT, WEIGHT + "\n        self.bias = nn.Parameter(torch.zeros(shape)) if elementwise_affine else None"),
        ("y = self.weight * x_hat", "y = self.weight * x_hat + self.bias"),
    ),
    in_rms(
        "weight-plus-one", "interface", "weight starts at 0 and is used as 1 + weight",
        "A fresh layer is right. With a saved weight of torch.nn in it, the output is too large by x_hat.",
        "Some models do keep the weight less 1. What would a state_dict from torch.nn mean to such a layer?",
        "affine",
        (WEIGHT, WEIGHT.replace("ones", "zeros")), ("y = self.weight * x_hat", "y = (1 + self.weight) * x_hat"),
    ),
    in_rms(
        "affine-always", "interface", "elementwise_affine is ignored: weight is always there",
        "RMSNorm(8, elementwise_affine=False) has a parameter.",
        "What should parameters() hold when the caller wants no weight?",
        "affine", (WEIGHT, WEIGHT.removesuffix(" if elementwise_affine else None")),
    ),
    in_rms(
        "only-the-last", "shapes", "Only the last axis is normalized, although normalized_shape has several",
        "RMSNorm(8) is right; RMSNorm((6, 8)) does the same as RMSNorm(8).",
        "How many axes does normalized_shape = (6, 8) have? All of them belong to one set.",
        "the-set", (RMS_AXES, "axes = (-1,)"),
    ),
    in_rms(
        "tuple-or-int", "shapes", "Whatever is no tuple is taken for an int",
        "A list of two sizes becomes one axis.",
        "Which question tells a single number from a sequence of numbers?",
        "the-set",
        ("if isinstance(normalized_shape, int):", "if not isinstance(normalized_shape, tuple):"),
    ),
    in_rms(
        "eps-of-float32", "eps", "eps=None means the eps of float32, whatever dtype x has",
        "float32 is right; in float64 tiny rows come out too small.",
        EPS_HINT, "epsilon", (FINFO, "eps = torch.finfo(torch.float32).eps"),
    ),
    in_rms(
        "eps-of-float64", "eps", "eps=None means the eps of float64, whatever dtype x has",
        "float64 is right; in float32 tiny rows come out too large.",
        EPS_HINT, "epsilon", (FINFO, "eps = torch.finfo(torch.float64).eps"),
    ),
    in_rms(
        "eps-of-llama", "eps", "eps=None means 1e-6",
        "Nothing for ordinary rows; tiny ones come out too small.",
        EPS_HINT, "epsilon", (FINFO, "eps = 1e-6"),
    ),
    in_rms(
        "eps-resolution", "eps", "eps=None means finfo(x.dtype).resolution, a round number near the eps",
        "Tiny rows come out too small, in both dtypes.",
        EPS_HINT, "epsilon", (FINFO, "eps = torch.finfo(x.dtype).resolution"),
    ),
    in_rms(
        "eps-tiny", "eps", "eps=None means finfo(x.dtype).tiny, the smallest normal number",
        "Tiny rows come out too large: it is as if there were no eps.",
        EPS_HINT, "epsilon", (FINFO, "eps = torch.finfo(x.dtype).tiny"),
    ),
    in_rms(
        "eps-zero-replaced", "eps", "eps=0 is taken for None",
        "RMSNorm(8, eps=0.0) adds an eps all the same.",
        "Which values of eps count as false in Python? Which of them means 'not given'?",
        "epsilon", ("if eps is None:", "if not eps:"),
    ),
    in_rms(
        "eps-kept-from-first-call", "eps", "eps is fixed at the first call",
        "A layer that has seen float32 uses its eps for float64, too.",
        "When is it known what dtype x has? Is it the same in every call?",
        "epsilon", (FINFO, "eps = self.eps = torch.finfo(x.dtype).eps"),
    ),
    in_rms(
        "root-detached", "gradients", "The root mean square is cut out of the graph",
        "The output is right; the gradient of x keeps a part along x.",
        "If one x changes, the mean square of its row changes too. How does autograd learn of that?",
        "rms-backward", (RMS_HAT, "x_hat = x / torch.sqrt(mean_square + eps).detach()"),
    ),
    in_rms(
        "root-before-eps", "gradients", "The root is taken of the mean square alone, and eps comes in afterwards, squared",
        "The output is right. A row of zeros gets a gradient of NaN.",
        "What is the slope of the root at 0? Let eps come in before the root is taken.",
        "epsilon", (RMS_HAT, "x_hat = x / torch.hypot(torch.sqrt(mean_square), torch.full_like(mean_square, eps).sqrt())"),
    ),
    in_rms(
        "weight-data", "gradients", "weight is used as .data, so no gradient reaches it",
        "weight.grad stays None and training never moves weight.",
        "What does .data leave out?",
        "affine", (RMS_AFFINE, RMS_AFFINE.replace("self.weight", "self.weight.data")),
    ),
    in_rms(
        "dtype-of-weight", "numerics", "The output has the wider dtype of x and weight",
        "x in float32 and weight in float64 give float64.",
        "Which dtype does the task want the output to have? Print it for a layer in another dtype than x.",
        "numerics", (RMS_AFFINE, RMS_AFFINE.replace("y.to(x.dtype)", "y")), seen_in=("A080",),
    ),
    in_rms(
        "cast-to-weight", "numerics", "The output is cast to the dtype of weight",
        "x in float64 and weight in float32 give float32.",
        "Which dtype does the task want the output to have? Print it for a layer in another dtype than x.",
        "numerics", (RMS_AFFINE, RMS_AFFINE.replace("y.to(x.dtype)", "y.to(self.weight.dtype)")),
    ),
    in_rms(
        "input-changed-in-float32", "numerics", "A float32 x is overwritten: the conversion to float32 copies nothing",
        "The output is right; whoever uses x afterwards, a skip connection say, gets other numbers.",
        "When does x.float() make a copy, and when does it return x itself?",
        "numerics",
        (RMS_HAT, RMS_HAT + "\n        x.detach().float().mul_(torch.rsqrt(mean_square + eps).detach())"),
        seen_in=("A082",),
    ),
    in_rms(
        "view-of-strided", "numerics", "The axes of a set are joined by view, which refuses some memory layouts",
        "A transposed input stops with 'view size is not compatible'.",
        "When can two axes be seen as one without moving a number? What does reshape do when they can't?",
        "numerics",
        (
            SQUARE,
            "k = len(self.normalized_shape)\n        flat = x.view(*x.shape[: x.dim() - k], -1)\n"
            "        mean_square = (flat**2).mean(dim=-1)[(..., *[None] * k)]",
        ),
    ),
    in_rms(
        "call-overridden", "interface", "The computation stands in __call__, not in forward",
        "Hooks never fire, since nn.Module's own __call__ is gone.",
        "Who calls forward, and what else does it do on the way?",
        "as-a-module", (FORWARD, "    def __call__(self, x):\n"),
    ),
    in_rms(
        "evaluation-off", "output", "In evaluation mode nothing is normalized",
        "Training is right; after eval() the layer only scales.",
        "RMSNorm has one behaviour. Which line of yours asks for the mode?",
        "bn-evaluation", (RMS_HAT, RMS_HAT + " if self.training else x"),
    ),
)  # fmt: skip
