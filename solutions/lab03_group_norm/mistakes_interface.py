"""Mistakes in what GroupNorm is and holds, in its options, and in what it refuses."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import AFFINE, BIAS, DIVIDES, GROUPED, PUT_BACK, RIGHT_C, WEIGHT, X_HAT, in_group

INIT = "def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):"
USES = "if self.weight is None:\n            return x_hat\n"

INTERFACE: tuple[Mistake, ...] = (
    in_group(
        "channels-first", "interface", "The constructor takes the channels first and the groups second",
        "GroupNorm(2, 6) raises a ValueError, or has two weights.",
        "Arguments may be given by position. Compare the order of yours with the contract's.",
        "as-a-module",
        (INIT, "def __init__(self, num_channels, num_groups, eps=1e-5, affine=True):"),
    ),
    in_group(
        "other-keywords", "interface", "The constructor's arguments have other names: groups and channels",
        "Building the layer with num_groups=3 raises a TypeError.",
        "Callers use the names in the contract. Compare your signature with it, word by word.",
        "as-a-module",
        (INIT, "def __init__(self, groups, channels, eps=1e-5, affine=True):\n        num_groups, num_channels = groups, channels"),
    ),
    in_group(
        "gamma-and-beta", "interface", "The parameters are called gamma and beta",
        "A state_dict from torch.nn can't be loaded: missing gamma and beta, unexpected weight and bias.",
        "The names of parameters are part of a module's interface. Which names does the contract give?",
        "as-a-module",
        (WEIGHT, WEIGHT.replace("self.weight", "self.gamma")),
        (BIAS, BIAS.replace("self.bias", "self.beta")),
        ("if self.weight is None", "if self.gamma is None"),
        (AFFINE, "return self.gamma.view(shape) * x_hat + self.beta.view(shape)"),
    ),
    in_group(
        "affine-not-parameters", "interface", "weight and bias are plain tensors, not parameters",
        "parameters() is empty, so an optimizer trains nothing and state_dict() doesn't hold them.",
        "list(m.parameters()) is what an optimizer is given. What does yours contain?",
        "as-a-module",
        (WEIGHT, "self.weight = torch.ones(num_channels, requires_grad=True) if affine else None"),
        (BIAS, "self.bias = torch.zeros(num_channels, requires_grad=True) if affine else None"),
    ),
    in_group(
        "weight-per-group", "interface", "weight and bias have one number per group, not per channel",
        "weight has shape (G,); a state_dict from torch.nn has C numbers there.",
        "Statistics belong to groups. To what belong weight and bias, by the table of parameters?",
        "affine",
        (WEIGHT, WEIGHT.replace("num_channels", "num_groups")),
        (BIAS, BIAS.replace("num_channels", "num_groups")),
        (AFFINE, "width = self.num_channels // groups\n"
                 "        weight, bias = (p.repeat_interleave(width).view(shape) for p in (self.weight, self.bias))\n"
                 "        return weight * x_hat + bias"),
    ),
    in_group(
        "one-weight-for-all", "interface", "weight and bias are single numbers shared by all channels",
        "weight has shape (1,); a state_dict from torch.nn has C numbers there.",
        "How many numbers does a layer for C channels learn?",
        "affine",
        (WEIGHT, WEIGHT.replace("num_channels", "1")),
        (BIAS, BIAS.replace("num_channels", "1")),
    ),
    in_group(
        "weight-with-extra-axes", "interface", "weight and bias have the shape (1, C, 1)",
        "load_state_dict complains of a size mismatch.",
        "Axes for broadcasting can be added when they are needed. What is the shape of the parameter itself?",
        "affine",
        (WEIGHT, WEIGHT.replace("(num_channels)", "(1, num_channels, 1)")),
        (BIAS, BIAS.replace("(num_channels)", "(1, num_channels, 1)")),
    ),
    in_group(
        "weight-starts-at-zero", "interface", "weight starts at 0",
        "A fresh layer returns 0 everywhere, and no gradient reaches the layers below.",
        "A fresh layer should normalize and nothing else. Which weight changes nothing?",
        "affine",
        (WEIGHT, WEIGHT.replace("ones", "zeros")),
        seen_in=("the last group norm of a residual branch, where it is done on purpose",),
    ),
    in_group(
        "bias-starts-at-one", "interface", "bias starts at 1",
        "A fresh layer's outputs have mean 1.",
        "A fresh layer should normalize and nothing else. Which bias changes nothing?",
        "affine",
        (BIAS, BIAS.replace("zeros", "ones")),
    ),
    in_group(
        "running-statistics", "interface", "The layer keeps running statistics, as batch normalization does",
        "state_dict() has keys that torch's GroupNorm doesn't know.",
        "Which of the layer's outputs would ever use them? Read what the two modes do.",
        "as-a-module",
        (WEIGHT, 'self.register_buffer("running_mean", torch.zeros(num_channels))\n'
                 '        self.register_buffer("running_var", torch.ones(num_channels))\n        ' + WEIGHT),
    ),
    in_group(
        "call-overridden", "interface", "The computation stands in __call__, not in forward",
        "Hooks never fire, since nn.Module's own __call__ is gone.",
        "Who calls forward, and what else does it do on the way?",
        "as-a-module",
        ("    def forward(self, x):\n", "    def __call__(self, x):\n"),
    ),
    in_group(
        "not-a-module", "interface", "The class is not an nn.Module",
        "There is no state_dict() and no parameters(); it can't be put into nn.Sequential.",
        "What does a class inherit from to become a layer?",
        "as-a-module",
        ("(nn.Module):\n", ":\n"),
        ("        super().__init__()\n", "        self.training = True\n"),
    ),
)  # fmt: skip

OPTIONS: tuple[Mistake, ...] = (
    in_group(
        "affine-false-ignored", "options", "affine=False is accepted and ignored: the parameters are there all the same",
        "list(m.parameters()) isn't empty for a layer without affine parameters.",
        "Build the layer with affine=False and look at weight. What does the contract say it is?",
        "affine",
        (WEIGHT, "self.weight = nn.Parameter(torch.ones(num_channels))"),
        (BIAS, "self.bias = nn.Parameter(torch.zeros(num_channels))"),
    ),
    in_group(
        "affine-false-crashes", "options", "With affine=False the forward pass still uses the missing weight",
        "AttributeError: 'NoneType' object has no attribute 'view'.",
        "Call a layer built with affine=False. What is left of the formula without scale and shift?",
        "affine",
        ("        " + USES, ""),
    ),
    in_group(
        "affine-false-keeps-bias", "options", "affine=False leaves out the weight only; the bias stays",
        "A layer without affine parameters still has one.",
        "Which two steps does the word affine stand for?",
        "affine",
        (BIAS, "self.bias = nn.Parameter(torch.zeros(num_channels))"),
        (USES, "if self.weight is None:\n            return x_hat + self.bias.view([1, -1] + [1] * (x.dim() - 2))\n"),
    ),
    in_group(
        "eps-ignored", "options", "The constructor's eps is ignored: a constant stands in the formula",
        "Nothing to see at the default; with eps=0.5 the outputs are too large.",
        "Search for the line that uses self.eps.",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / torch.sqrt(var + 1e-5)"),
    ),
    in_group(
        "eps-from-dtype", "options", "eps is taken from the dtype of the input, not from the constructor",
        "float32 and float64 differ, and the constructor's number has no effect.",
        "eps=None means that in another layer. What does this layer's signature say?",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / torch.sqrt(var + torch.finfo(x.dtype).eps)"),
    ),
    in_group(
        "affine-before-eps", "options", "The constructor takes affine before eps",
        "GroupNorm(2, 4, 0.5) has parameters and the default eps; GroupNorm(2, 4, 0.5, False) divides by nothing.",
        "Arguments may be given by position. Compare the order of yours with the contract's.",
        "as-a-module",
        (INIT, INIT.replace("eps=1e-5, affine=True", "affine=True, eps=1e-5")),
    ),
)  # fmt: skip

ERRORS: tuple[Mistake, ...] = (
    in_group(
        "division-not-checked", "errors", "It is not checked that G divides C",
        "Where the space has a lucky size the layer cuts through the middle of channels without an error.",
        "Six channels in four groups: how many are in the first one? When does reshape object, and when not?",
        "the-set",
        (DIVIDES, ""),
    ),
    in_group(
        "division-asserted", "errors", "C that is not divisible by G stops with an AssertionError",
        "An AssertionError where a ValueError is asked for; with python -O nothing is checked.",
        "assert is for what cannot happen. Which exception is for an argument with a value that will not do?",
        "as-a-module",
        (DIVIDES, "        assert num_channels % num_groups == 0\n"),
    ),
    in_group(
        "rest-left-over", "errors", "Channels that do not fill a group are passed on as they are",
        "Six channels in four groups give an output; the last two channels are not normalized.",
        "What does the task text say about a C that G does not divide?",
        "the-set",
        (DIVIDES, ""),
        (GROUPED, "whole = x.shape[1] // groups * groups\n        rest = x[:, whole:]\n"
                  "        grouped = x[:, :whole].reshape(x.shape[0], groups, -1)"),
        (PUT_BACK, "x_hat = torch.cat([x_hat.reshape(x.shape[0], whole, *x.shape[2:]), rest], dim=1)"),
    ),
    in_group(
        "fewer-groups", "errors", "A number of groups that does not divide C is silently made smaller",
        "Six channels in four groups are normalized in two, and nobody is told.",
        "Would a user who asked for four groups want to know?",
        "the-set",
        (DIVIDES, "        while num_channels % num_groups != 0:\n            num_groups -= 1\n"),
    ),
    in_group(
        "wrong-channels-returned", "errors", "An input with another number of channels is returned unchanged",
        "Nothing is raised, and nothing is normalized.",
        "Who notices that the layer has done nothing? An error at the place of the mistake is a kindness.",
        "as-a-module",
        (RIGHT_C, "        if x.shape[1] != self.num_channels:\n            return x\n"),
    ),
    in_group(
        "one-sample-refused", "errors", "A single sample is refused",
        "A ValueError for a batch of one, where group normalization has all it needs.",
        "Which values share a mean here? Does their number depend on N?",
        "few-values",
        (PUT_BACK, PUT_BACK + "\n        if x.shape[0] == 1:\n            raise ValueError(\"need more than one sample\")"),
        seen_in=("batch normalization's guard, carried over",),
    ),
)  # fmt: skip
