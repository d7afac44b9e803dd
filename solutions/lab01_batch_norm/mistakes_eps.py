"""Mistakes about eps. The default of 1e-5 hides nearly all of them; eps=0.5 shows every one."""

from __future__ import annotations

from solutions.lab01_batch_norm.plain import X_HAT, in_layers

STORE = "self.eps = eps"
CENTRED = "(x - mean.view(shape))"

EPS = (
    *in_layers(
        "eps-outside-root",
        "training",
        "eps is added to the standard deviation, outside the root",
        "Invisible at unit variance and eps 1e-5; a factor for channels with a small spread.",
        "Build the layer with eps=0.5, where a misplaced eps can be seen. What does the formula add it to?",
        "epsilon",
        (X_HAT, f"x_hat = {CENTRED} / (torch.sqrt(var.view(shape)) + self.eps)"),
    ),
    *in_layers(
        "eps-outside-root-in-evaluation",
        "evaluation",
        "In evaluation mode eps is added outside the root (in training it is right)",
        "Training is right, evaluation slightly off; at the default eps nobody notices.",
        "Build with eps=0.5 and compare the two branches of your forward: is it the same formula in both?",
        "epsilon",
        (
            X_HAT,
            "std = torch.sqrt(var + self.eps) if self.training or not tracked else torch.sqrt(var) + self.eps\n"
            f"        x_hat = {CENTRED} / std.view(shape)",
        ),
    ),
    *in_layers(
        "no-eps",
        "training",
        "eps is not used at all",
        "A constant channel gives NaN; everything else looks right.",
        "What does your denominator become for a channel in which all values are equal?",
        "epsilon",
        (X_HAT, f"x_hat = {CENTRED} / torch.sqrt(var.view(shape))"),
    ),
    *in_layers(
        "eps-subtracted",
        "training",
        "eps is subtracted from the variance",
        "NaN for a channel whose variance is below eps.",
        "What is eps there to prevent, and in which direction must it push the denominator?",
        "epsilon",
        (X_HAT, f"x_hat = {CENTRED} / torch.sqrt(var.view(shape) - self.eps)"),
    ),
    *in_layers(
        "eps-in-running-variance",
        "running",
        "eps has got into the running variance",
        "running_var is too large by eps; with eps=0.5 it is plain to see.",
        "Is eps a property of the data or of the division? Look at what you hand to the update.",
        "epsilon",
        ("(var * n / (n - 1) - self.running_var)", "(var * n / (n - 1) + self.eps - self.running_var)"),
    ),
    *in_layers(
        "eps-counted-twice",
        "training",
        "eps is added twice: once to the variance and once more in the root",
        "The output is slightly too small; plain to see with eps=0.5.",
        "Follow eps from the constructor to the denominator and count how often it is added on the way.",
        "epsilon",
        (X_HAT, f"x_hat = {CENTRED} / torch.sqrt(var.view(shape) + self.eps + self.eps)"),
    ),
    *in_layers(
        "eps-argument-ignored",
        "training",
        "The constructor's eps is never used",
        "Right at the default, wrong for every other eps.",
        "Build the layer with eps=0.5: which line of yours learns about it?",
        "epsilon",
        (STORE, "self.eps = 1e-5"),
    ),
    *in_layers(
        "eps-added-to-output",
        "training",
        "eps is added after the division, to the normalized values",
        "Every output is shifted by weight * eps, and a constant channel still divides by zero.",
        "Python divides before it adds. Read your line with the brackets that Python puts in.",
        "epsilon",
        (X_HAT, f"x_hat = {CENTRED} / torch.sqrt(var.view(shape)) + self.eps"),
    ),
    *in_layers(
        "variance-clamped-at-eps",
        "training",
        "eps is a lower bound of the variance, where it should be added",
        "Right whenever the variance is far above eps; no eps at all is felt there.",
        "With eps=0.5 and a variance of 2, what stands under the root in the formula, and what in your code?",
        "epsilon",
        (X_HAT, f"x_hat = {CENTRED} / torch.sqrt(var.view(shape).clamp(min=self.eps))"),
    ),
)
