"""Mistakes about the mode: what evaluation uses, what it may change, and where the mode comes from."""

from __future__ import annotations

from solutions.lab01_batch_norm.plain import BRANCH, in_layers

RUN = "mean, var = self.running_mean, self.running_var\n"
CALL = "            if tracked:\n                self.update(mean, var, n)\n"
STORE = "        self.momentum = momentum\n"
NAME = "    def forward(self, x):\n"

MODES = (
    *in_layers(
        "evaluation-uses-the-batch",
        "evaluation",
        "Evaluation still normalizes with the statistics of the batch",
        "The output for one sample depends on the others in its batch; a single sample raises an error.",
        "In evaluation the layer must answer for one sample alone. Which statistics does it have then?",
        "bn-evaluation",
        (BRANCH, "if True:"),
        (CALL, "            if tracked and self.training:\n                self.update(mean, var, n)\n"),
    ),
    *in_layers(
        "evaluation-updates-running",
        "evaluation",
        "Evaluation changes the running statistics",
        "Evaluating the same data twice gives two answers.",
        "Evaluation should be a measurement. Compare state_dict() before and after a call in evaluation mode.",
        "bn-evaluation",
        (
            RUN,
            "mean, var, n = self.running_mean.clone(), self.running_var.clone(), x.numel() // x.shape[1]\n"
            "            if n > 1:\n"
            "                self.update(x.mean(dim=axes), x.var(dim=axes, unbiased=False), n)\n"
            "                self.num_batches_tracked -= 1\n",
        ),
    ),
    *in_layers(
        "evaluation-counts-batches",
        "evaluation",
        "num_batches_tracked goes up in evaluation too",
        "The count is too large after an evaluation; a cumulative average then weighs new batches too little.",
        "Which batches have gone into the running statistics? Only those should be counted.",
        "bn-evaluation",
        (RUN, RUN + "            self.num_batches_tracked += 1\n"),
    ),
    *in_layers(
        "mode-from-grad-enabled",
        "evaluation",
        "The mode is taken from whether gradients are enabled",
        "eval() with gradients uses the batch; train() under no_grad uses the running statistics.",
        "Whether gradients are recorded and whether the layer is being trained are two questions. Which attribute "
        "answers the second?",
        "as-a-module",
        (BRANCH, "if torch.is_grad_enabled() or not tracked:"),
        seen_in=("d2l",),
    ),
    *in_layers(
        "mode-from-input-gradient",
        "training",
        "The mode is taken from whether the input requires a gradient",
        "The first layer of a network never trains, and a gradient taken in evaluation sees the batch.",
        "Ask what self.training is, and who sets it.",
        "as-a-module",
        (BRANCH, "if (self.training and x.requires_grad) or not tracked:"),
    ),
    *in_layers(
        "mode-as-argument",
        "evaluation",
        "The mode is an argument of forward; eval() has no effect",
        "m.eval() changes nothing, and inside nn.Sequential the layer always trains.",
        "nn.Sequential calls each layer with one argument. How does a layer learn there that it is being evaluated?",
        "as-a-module",
        (NAME, "    def forward(self, x, training=True):\n"),
        (BRANCH, "if training or not tracked:"),
    ),
    *in_layers(
        "own-mode-flag",
        "evaluation",
        "A flag of its own decides the mode; only the layer's own eval() and train() set it",
        "Alone the layer obeys; as a part of a larger model it stays in training mode.",
        "A model switches its parts through train(mode) and the attribute training. Read that attribute, don't keep a "
        "second one.",
        "as-a-module",
        (STORE, STORE + "        self.use_running = False\n"),
        (BRANCH, "if not self.use_running or not tracked:"),
        (
            NAME,
            "    def eval(self):\n        self.use_running = True\n        return self\n\n"
            "    def train(self, mode=True):\n        self.use_running = False\n        return self\n\n" + NAME,
        ),
    ),
    *in_layers(
        "no-way-back-to-training",
        "running",
        "After eval() the layer never trains again: train() doesn't clear the flag",
        "Training after the first evaluation uses the running statistics, which no longer move.",
        "Call m.eval(), then m.train(), then the layer: what has each of the two calls left behind?",
        "as-a-module",
        (STORE, STORE + "        self.frozen = False\n"),
        (BRANCH, "self.frozen = self.frozen or not self.training\n        if not self.frozen or not tracked:"),
    ),
    *in_layers(
        "affine-missing-in-evaluation",
        "evaluation",
        "weight and bias are not applied in evaluation mode",
        "Invisible in a fresh layer; with trained parameters evaluation returns x_hat.",
        "Set the weight to 2 and the bias to 1 and call the layer in both modes.",
        "bn-evaluation",
        ("if self.weight is None:", "if self.weight is None or not (self.training or not tracked):"),
    ),
    *in_layers(
        "last-batch-in-evaluation",
        "evaluation",
        "Evaluation uses the statistics of the last training batch, kept aside, not the running ones",
        "The evaluation depends on which batch came last.",
        "What are running_mean and running_var for, if evaluation doesn't read them?",
        "bn-evaluation",
        (STORE, STORE + "        self.last = None\n"),
        (CALL, CALL + "            self.last = (mean.detach(), var.detach())\n"),
        (RUN, "mean, var = self.last or (self.running_mean, self.running_var)\n"),
    ),
    *in_layers(
        "no-root-in-evaluation",
        "evaluation",
        "In evaluation the centred values are divided by the running variance, not by its root",
        "Right while running_var is near 1, which is where it starts.",
        "Train until running_var is far from 1 and compare the two branches of your forward.",
        "bn-evaluation",
        (RUN, RUN + "            var = (var + self.eps) ** 2 - self.eps\n"),
    ),
    *in_layers(
        "no-centring-in-evaluation",
        "evaluation",
        "The running mean is not subtracted in evaluation",
        "The outputs are shifted by running_mean / running_std.",
        "Evaluate the layer at x = running_mean. What should come out?",
        "bn-evaluation",
        (RUN, "mean, var = torch.zeros_like(self.running_mean), self.running_var\n"),
    ),
    *in_layers(
        "running-variance-corrected-again",
        "evaluation",
        "Evaluation applies Bessel's correction a second time, with the size of the batch at hand",
        "Evaluation depends on the batch size.",
        "The correction was made when the running variance was stored. Does anything in evaluation still depend on n?",
        "bn-evaluation",
        (RUN, RUN + "            n = x.numel() // x.shape[1]\n            var = var * n / max(n - 1, 1)\n"),
    ),
)
