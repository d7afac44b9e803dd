"""Mistakes in evaluation: what it uses, what it may change, and where the mode comes from."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab06_beyond.plain import AFFINE, BRANCH, EVALUATION, in_renorm

STORE = "        self.momentum = momentum\n"
NAME = "    def forward(self, x):\n"
FEW = '            if n < 2:\n                raise ValueError(f"{tuple(x.shape)} has one value per channel")\n'

EVALUATED: tuple[Mistake, ...] = (
    in_renorm(
        "evaluation-uses-the-batch",
        "evaluation",
        "Evaluation still normalizes with the statistics of the batch",
        "The output for one sample depends on the others in its batch.",
        "In evaluation the layer must answer for one sample alone. Which statistics does it have then?",
        "batch-renorm-inference",
        (
            EVALUATION,
            "mean = x.mean(dim=axes)\n"
            "            var = ((x - mean.view(shape)) ** 2).mean(dim=axes)\n"
            "            x_hat = (x - mean.view(shape)) / torch.sqrt(var + self.eps).view(shape)",
        ),
    ),
    in_renorm(
        "evaluation-corrects-the-batch",
        "evaluation",
        "Evaluation goes through the batch as well, with r and d and their limits",
        "Right for batches near what is remembered; one far away, or a single sample, is answered otherwise.",
        "In evaluation there is nothing to correct: which two numbers are left in the formula?",
        "batch-renorm-inference",
        (
            EVALUATION,
            "mean = x.mean(dim=axes)\n"
            "            sigma = torch.sqrt(((x - mean.view(shape)) ** 2).mean(dim=axes) + self.eps)\n"
            "            r = (sigma / self.running_std).clamp(1 / self.r_max, self.r_max)\n"
            "            d = ((mean - self.running_mean) / self.running_std).clamp(-self.d_max, self.d_max)\n"
            "            x_hat = (x - mean.view(shape)) / sigma.view(shape) * r.view(shape) + d.view(shape)",
        ),
    ),
    in_renorm(
        "evaluation-adds-eps",
        "evaluation",
        "Evaluation adds eps to running_std, which holds it already",
        "Invisible at unit spread; outputs too small where running_std is small or eps is large.",
        "Where did eps go when running_std was updated?",
        "batch-renorm-inference",
        (EVALUATION, EVALUATION.replace("self.running_std.view(shape)", "(self.running_std + self.eps).view(shape)")),
    ),
    in_renorm(
        "evaluation-adds-eps-under-a-root",
        "evaluation",
        "Evaluation squares running_std, adds eps and takes the root, as batch norm does",
        "Invisible at the default eps; with eps=0.5 the outputs are too small.",
        "Batch norm remembers a variance without eps. What does this layer remember?",
        "batch-renorm-inference",
        (
            EVALUATION,
            EVALUATION.replace(
                "self.running_std.view(shape)", "torch.sqrt(self.running_std**2 + self.eps).view(shape)"
            ),
        ),
    ),
    in_renorm(
        "evaluation-takes-a-root",
        "evaluation",
        "Evaluation divides by the root of running_std, as if it held a variance",
        "Right at 1, where running_std starts.",
        "Which of the two does running_std hold, and which does x get divided by?",
        "batch-renorm-inference",
        (EVALUATION, EVALUATION.replace("self.running_std.view(shape)", "torch.sqrt(self.running_std).view(shape)")),
    ),
    in_renorm(
        "evaluation-does-not-centre",
        "evaluation",
        "The running mean is not subtracted in evaluation",
        "Outputs are shifted by running_mean / running_std.",
        "Evaluate the layer at x = running_mean. What should come out?",
        "batch-renorm-inference",
        (EVALUATION, "x_hat = x / self.running_std.view(shape)"),
    ),
    in_renorm(
        "evaluation-without-affine",
        "evaluation",
        "weight and bias are not applied in evaluation mode",
        "Invisible in a fresh layer; with trained parameters evaluation returns x_hat.",
        "Set the weight to 2 and the bias to 1 and call the layer in both modes.",
        "batch-renorm-inference",
        (AFFINE, f"if not self.training:\n            return x_hat\n        {AFFINE}"),
    ),
    in_renorm(
        "evaluation-updates",
        "evaluation",
        "Evaluation moves the running values",
        "Evaluating the same data twice gives two answers.",
        "Evaluation should be a measurement. Compare state_dict() before and after it.",
        "batch-renorm-inference",
        (
            EVALUATION,
            EVALUATION + "\n            if x.numel() > x.shape[1]:\n"
            "                self.update(x.mean(dim=axes), x.std(dim=axes, unbiased=False))",
        ),
    ),
    in_renorm(
        "mode-from-grad-enabled",
        "evaluation",
        "The mode is taken from whether gradients are enabled",
        "eval() with gradients uses the batch; train() under no_grad uses the running values.",
        "Whether gradients are recorded and whether the layer is being trained are two questions.",
        "as-a-module",
        (BRANCH, "        if torch.is_grad_enabled():\n"),
        seen_in=("d2l",),
    ),
    in_renorm(
        "own-mode-flag",
        "evaluation",
        "A flag of its own decides the mode; only the layer's own eval() and train() set it",
        "Alone the layer obeys; as a part of a larger model it stays in training mode.",
        "A model switches its parts through the attribute training. Read that one, do not keep a second.",
        "as-a-module",
        (STORE, STORE + "        self.use_running = False\n"),
        (BRANCH, "        if not self.use_running:\n"),
        (
            NAME,
            "    def eval(self):\n        self.use_running = True\n        return self\n\n"
            "    def train(self, mode=True):\n        self.use_running = False\n        return self\n\n" + NAME,
        ),
    ),
    in_renorm(
        "one-value-refused-in-evaluation",
        "evaluation",
        "One value per channel is refused in evaluation too",
        "A single sample cannot be evaluated.",
        "Which statistics does evaluation use, and do they depend on the batch?",
        "batch-renorm-inference",
        (FEW, ""),
        (
            "        if self.training:\n            n = x.numel() // x.shape[1]\n",
            "        n = x.numel() // x.shape[1]\n"
            '        if n < 2:\n            raise ValueError(f"{tuple(x.shape)} has one value per channel")\n'
            "        if self.training:\n",
        ),
    ),
    in_renorm(
        "evaluation-value-kept",
        "evaluation",
        "What evaluation multiplies by is worked out once and kept",
        "After more training, or a loaded state, evaluation still answers as before.",
        "Evaluate, train a little, evaluate again. Which numbers of yours are from the first time?",
        "batch-renorm-inference",
        ("        self.d_max = d_max\n", "        self.d_max = d_max\n        self.kept = None\n"),
        (
            EVALUATION,
            "if self.kept is None:\n"
            "                self.kept = (self.running_mean.clone(), self.running_std.clone())\n"
            "            x_hat = (x - self.kept[0].view(shape)) / self.kept[1].view(shape)",
        ),
    ),
)
