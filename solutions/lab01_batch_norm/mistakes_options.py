"""Mistakes with the options: affine=False, track_running_stats=False, momentum=None and momentum=0."""

from __future__ import annotations

from solutions.lab01_batch_norm.plain import BIAS, BRANCH, WEIGHT, in_layers

SKIP = "        if self.weight is None:\n            return x_hat\n"
TRACK = "track = track_running_stats"
CALL = "            if tracked:\n                self.update(mean, var, n)\n"
RATE = "        if rate is None:\n            rate = 1 / self.num_batches_tracked.item()\n"

OPTIONS = (
    *in_layers(
        "affine-false-ignored",
        "options",
        "affine=False is accepted and ignored: the parameters are there all the same",
        "list(m.parameters()) isn't empty for a layer without affine parameters.",
        "Build the layer with affine=False and look at weight. What does the contract say it is?",
        "affine",
        (WEIGHT, "self.weight = nn.Parameter(torch.ones(num_features))"),
        (BIAS, "self.bias = nn.Parameter(torch.zeros(num_features))"),
    ),
    *in_layers(
        "affine-false-crashes",
        "options",
        "With affine=False the forward pass still uses the missing weight",
        "AttributeError: 'NoneType' object has no attribute 'view'.",
        "Call a layer built with affine=False. What is left of the formula without scale and shift?",
        "affine",
        (SKIP, ""),
    ),
    *in_layers(
        "affine-false-frozen-ones",
        "options",
        "With affine=False weight and bias are constant parameters, not None",
        "They are in state_dict(), so a layer of torch.nn without them can't load it.",
        "The output is right. Compare the keys of state_dict() with those of a torch layer built the same way.",
        "affine",
        (WEIGHT, "self.weight = nn.Parameter(torch.ones(num_features), requires_grad=affine)"),
        (BIAS, "self.bias = nn.Parameter(torch.zeros(num_features), requires_grad=affine)"),
    ),
    *in_layers(
        "no-tracking-without-affine",
        "options",
        "With affine=False the running statistics are not updated",
        "A layer without parameters evaluates with mean 0 and variance 1.",
        "Two options, two questions: does it learn a scale, does it remember statistics? Which of your lines ties "
        "them together?",
        "bn-running-statistics",
        (CALL, "            if tracked and self.weight is not None:\n                self.update(mean, var, n)\n"),
    ),
    *in_layers(
        "tracking-false-ignored",
        "options",
        "track_running_stats=False is accepted and ignored",
        "The buffers exist and evaluation uses them; batch statistics are wanted in both modes.",
        "Without tracking there is nothing to remember. What can evaluation use then?",
        "bn-evaluation",
        (TRACK, "track = True"),
    ),
    *in_layers(
        "tracking-false-crashes-in-training",
        "options",
        "With track_running_stats=False training still updates buffers that are None",
        "TypeError: unsupported operand for NoneType.",
        "Build the layer without tracking and call it. Which line needs a buffer that isn't there?",
        "bn-running-statistics",
        ("if tracked:\n", "if self.training:\n"),
    ),
    *in_layers(
        "tracking-false-crashes-in-evaluation",
        "options",
        "With track_running_stats=False evaluation reaches for running statistics that do not exist",
        "An AttributeError in evaluation; training works.",
        "What does a layer without memory do in evaluation? Your branch asks about the mode only.",
        "bn-evaluation",
        (BRANCH, "if self.training:"),
    ),
    *in_layers(
        "tracking-false-evaluates-as-identity",
        "options",
        "With track_running_stats=False evaluation normalizes with mean 0 and variance 1",
        "The layer does nothing in evaluation.",
        "A layer without running statistics uses the same statistics in both modes. Which ones?",
        "bn-evaluation",
        (BRANCH, "if self.training:"),
        (
            "mean, var = self.running_mean, self.running_var\n",
            "mean, var = self.running_mean, self.running_var\n"
            "            if not tracked:\n"
            "                mean, var = x.new_zeros(x.shape[1]), x.new_ones(x.shape[1])\n",
        ),
    ),
    *in_layers(
        "momentum-none-unsupported",
        "options",
        "momentum=None is used as a number",
        "TypeError: unsupported operand type(s) for *: 'NoneType' and 'Tensor'.",
        "The contract gives None a meaning. What weight must the k-th batch get, for the running mean to be the "
        "average of all k?",
        "bn-running-statistics",
        (RATE, ""),
        seen_in=("the first version of this course",),
    ),
    *in_layers(
        "momentum-none-as-default",
        "options",
        "momentum=None is replaced by 0.1",
        "The first batch counts for a tenth, where a plain average is wanted.",
        "After one batch, what is the average of all batches seen?",
        "bn-running-statistics",
        ("rate = 1 / self.num_batches_tracked.item()", "rate = 0.1"),
    ),
    *in_layers(
        "cumulative-average-off-by-one",
        "options",
        "The cumulative average divides by one batch too many",
        "After one batch running_mean is half the batch mean.",
        "Write down the weight of the first batch when it is the only one. Is the count increased before or after you "
        "use it?",
        "bn-running-statistics",
        ("rate = 1 / self.num_batches_tracked.item()", "rate = 1 / (self.num_batches_tracked.item() + 1)"),
    ),
    *in_layers(
        "cumulative-count-not-in-the-buffer",
        "options",
        "The cumulative average counts in an attribute of its own, not in num_batches_tracked",
        "After loading a state_dict the average starts again, though the buffer says how many batches it holds.",
        "Save after 3 batches, load into a fresh layer, train on a fourth. What weight must it get, and where can the "
        "layer read that?",
        "bn-running-statistics",
        ("self.momentum = momentum\n", "self.momentum = momentum\n        self.seen = 0\n"),
        (
            "rate = 1 / self.num_batches_tracked.item()",
            "self.seen += 1\n            rate = 1 / self.seen",
        ),
    ),
    *in_layers(
        "momentum-zero-as-none",
        "running",
        "momentum=0.0 is taken for None",
        "A layer that should keep its running statistics overwrites them with the first batch.",
        "In Python 0.0 and None are both false. Which question do you want to ask about momentum?",
        "bn-running-statistics",
        ("if rate is None:", "if not rate:"),
    ),
)
