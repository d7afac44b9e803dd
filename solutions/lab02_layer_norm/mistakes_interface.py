"""Mistakes in what LayerNorm is and holds: names, kinds, shapes, first values, constructor, options; and torch doing the work."""

from __future__ import annotations

from solutions.lab02_layer_norm.plain import AFFINE, BIAS, FORWARD, INT, TUPLE, WEIGHT, X_HAT, in_layer

CLASS = "(nn.Module):\n"
INIT = "    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):\n"
USES = f"if self.weight is None:\n            return x_hat\n        {AFFINE}"
BUILT_IN_HINT = "The task is to write what this call does. Start from the formula and put each symbol into a line."

INHERITS = """\
from torch import nn


class LayerNorm(nn.LayerNorm):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__(normalized_shape, eps, elementwise_affine)

    def forward(self, x):
        if x.shape[-len(self.normalized_shape):] != self.normalized_shape:
            raise ValueError(f"cannot take {tuple(x.shape)}")
        return super().forward(x)
"""

BATCH_NORM = """\
        sets = x.reshape(1, -1, *x.shape[x.dim() - k:]).flatten(2)
        x_hat = nn.functional.batch_norm(sets, None, None, training=sets.shape[-1] > 1, eps=self.eps) \\
            if sets.shape[-1] > 1 else 0 * sets
        x_hat = x_hat.reshape(x.shape)"""

INTERFACE = (
    in_layer(
        "function-of-torch",
        "output",
        "torch's own layer_norm does the work",
        "The report names the operator that ran.",
        BUILT_IN_HINT,
        "the-set",
        (USES, "return nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)"),
    ),
    in_layer(
        "inherits",
        "interface",
        "The class inherits from torch's own LayerNorm",
        "The report names the class. Whatever forward adds, the parent does the work.",
        BUILT_IN_HINT,
        "as-a-module",
        source=INHERITS,
    ),
    in_layer(
        "batch-norm-in-disguise",
        "output",
        "torch's batch_norm does the work, on a reshaped input",
        "The numbers are right. The report names batch_norm, which is torch's own normalization too.",
        BUILT_IN_HINT,
        "the-set",
        (X_HAT, BATCH_NORM.lstrip()),
    ),
    in_layer(
        "gamma-and-beta",
        "interface",
        "The parameters are called gamma and beta",
        "A state_dict from torch.nn can't be loaded: missing weight and bias, unexpected gamma and beta.",
        "The names of parameters are part of a module's interface. Which names does the task give?",
        "as-a-module",
        (WEIGHT, WEIGHT.replace("self.weight", "self.gamma")),
        (BIAS, BIAS.replace("self.bias", "self.beta")),
        (USES, USES.replace("self.weight", "self.gamma").replace("self.bias", "self.beta")),
        seen_in=("the first version of this course",),
    ),
    in_layer(
        "affine-not-parameters",
        "interface",
        "weight and bias are plain tensors, not parameters",
        "parameters() is empty, so an optimizer trains nothing and state_dict() doesn't hold them.",
        "list(m.parameters()) is what an optimizer is given. What does yours contain?",
        "as-a-module",
        (WEIGHT, "self.weight = torch.ones(shape, requires_grad=True) if elementwise_affine else None"),
        (BIAS, "self.bias = torch.zeros(shape, requires_grad=True) if elementwise_affine else None"),
    ),
    in_layer(
        "one-weight-for-all",
        "interface",
        "weight and bias are single numbers shared by all positions",
        "weight has shape (1,); a state_dict from torch.nn has a number for each position there.",
        "How many numbers does a layer for D features learn?",
        "affine",
        (WEIGHT, WEIGHT.replace("(shape)", "(1)")),
        (BIAS, BIAS.replace("(shape)", "(1)")),
        seen_in=("A041",),
    ),
    in_layer(
        "weight-starts-at-zero",
        "interface",
        "weight starts at 0",
        "A fresh layer returns 0 everywhere, and no gradient reaches the layers below.",
        "A fresh layer should normalize and nothing else. Which weight changes nothing?",
        "affine",
        (WEIGHT, WEIGHT.replace("ones", "zeros")),
    ),
    in_layer(
        "weight-plus-one",
        "interface",
        "weight starts at 0 and is used as 1 + weight",
        "A fresh layer is right. With a saved weight of torch.nn in it, the output is too large by x_hat.",
        "Some models do keep the weight less 1. What would a state_dict from torch.nn mean to such a layer?",
        "affine",
        (WEIGHT, WEIGHT.replace("ones", "zeros")),
        (AFFINE, "return (1 + self.weight) * x_hat + self.bias"),
    ),
    in_layer(
        "no-bias",
        "interface",
        "There is a weight, but no bias",
        "A state_dict from torch.nn can't be loaded: unexpected key bias.",
        "Which of the two layers of this lab has no bias, and why can it do without?",
        "affine",
        (BIAS, "self.bias = None"),
        (AFFINE, "return self.weight * x_hat"),
    ),
    in_layer(
        "affine-with-a-leading-axis",
        "interface",
        "weight and bias carry an axis of length 1 in front",
        "The output is right; load_state_dict complains of a size mismatch.",
        "Broadcasting adds leading axes by itself. What shape does the task give for weight?",
        "as-a-module",
        (WEIGHT, WEIGHT.replace("(shape)", "(1, *shape)")),
        (BIAS, BIAS.replace("(shape)", "(1, *shape)")),
        (AFFINE, "return (self.weight * x_hat + self.bias).reshape(x.shape)"),
    ),
    in_layer(
        "running-statistics-kept",
        "interface",
        "The layer keeps running statistics in buffers",
        "state_dict() has keys that torch.nn.LayerNorm doesn't know.",
        "Every set of values lies inside one sample. What would there be to remember for another sample?",
        "the-set",
        (BIAS, BIAS + '\n        self.register_buffer("running_mean", torch.zeros(shape))'),
    ),
    in_layer(
        "call-overridden",
        "interface",
        "The computation stands in __call__, not in forward",
        "Hooks never fire, since nn.Module's own __call__ is gone.",
        "Who calls forward, and what else does it do on the way?",
        "as-a-module",
        (FORWARD, "    def __call__(self, x):\n"),
    ),
    in_layer(
        "not-a-module",
        "interface",
        "The class is not an nn.Module",
        "There is no eval(), no state_dict(), no parameters(); it can't be put into nn.Sequential.",
        "What does a class inherit from to become a layer?",
        "as-a-module",
        (CLASS, ":\n"),
    ),
    in_layer(
        "eps-called-epsilon",
        "interface",
        "A constructor argument has another name: epsilon",
        "Building the layer with eps=1e-3 raises a TypeError.",
        "Callers use the names in the task. Compare your signature with it, word by word.",
        "as-a-module",
        (INIT, INIT.replace("eps=", "epsilon=")),
        ("self.eps = eps", "self.eps = epsilon"),
        seen_in=("A059",),
    ),
    in_layer(
        "num-features",
        "interface",
        "The first constructor argument is called num_features",
        "LayerNorm(normalized_shape=8) raises a TypeError.",
        "Callers use the names in the task. Compare your signature with it, word by word.",
        "as-a-module",
        (INIT, INIT.replace("normalized_shape", "num_features")),
        ("super().__init__()\n", "super().__init__()\n        normalized_shape = num_features\n"),
        seen_in=("the first version of this course",),
    ),
    in_layer(
        "affine-before-eps",
        "options",
        "The constructor takes elementwise_affine before eps",
        "LayerNorm(8, 0.5) keeps its eps of 1e-5.",
        "Arguments may be given by position. Compare the order of yours with the task's.",
        "as-a-module",
        (INIT, INIT.replace("eps=1e-5, elementwise_affine=True", "elementwise_affine=True, eps=1e-5")),
    ),
    in_layer(
        "affine-always",
        "options",
        "elementwise_affine is ignored: weight and bias are always there",
        "LayerNorm(8, elementwise_affine=False) has two parameters.",
        "What should parameters() hold when the caller wants no weight and no bias?",
        "affine",
        (WEIGHT, WEIGHT.removesuffix(" if elementwise_affine else None")),
        (BIAS, BIAS.removesuffix(" if elementwise_affine else None")),
    ),
    in_layer(
        "bias-always",
        "options",
        "elementwise_affine=False drops the weight and leaves the bias",
        "parameters() still holds a bias.",
        "elementwise_affine speaks of both. Follow each of the two parameters through your constructor.",
        "affine",
        (BIAS, BIAS.removesuffix(" if elementwise_affine else None")),
    ),
    in_layer(
        "affine-off-crashes",
        "options",
        "forward uses weight and bias although there are none",
        "LayerNorm(8, elementwise_affine=False)(x) raises a TypeError about None.",
        "Which lines of forward need a weight, and what should they do without one?",
        "affine",
        ("        if self.weight is None:\n            return x_hat\n", ""),
    ),
    in_layer(
        "only-int",
        "shapes",
        "normalized_shape may only be an int",
        "LayerNorm((2, 3)) raises a TypeError.",
        "Which kinds of normalized_shape does the task name? Bring them all into one form first.",
        "the-set",
        (INT, "        normalized_shape = (int(normalized_shape),)\n"),
    ),
    in_layer(
        "list-not-a-tuple",
        "shapes",
        "A normalized_shape given as a list is compared with a tuple",
        "LayerNorm([2, 3]) refuses every input, since [2, 3] == (2, 3) is False.",
        "Bring int, list, tuple and torch.Size into one form before anything else looks at it.",
        "the-set",
        (TUPLE, "self.normalized_shape = normalized_shape"),
    ),
    in_layer(
        "tuple-or-int",
        "shapes",
        "Whatever is no tuple and no list is taken for an int",
        "LayerNorm(torch.Size([2, 3])) works, a list of two sizes becomes one axis.",
        "torch.Size is a tuple, a list is not. Which question tells a single number from a sequence of numbers?",
        "the-set",
        (
            INT,
            "        if not isinstance(normalized_shape, tuple):\n            normalized_shape = (normalized_shape,)\n",
        ),
    ),
)
