"""Mistakes in GroupNorm's formula: the wrong variance, a step left out, eps in the wrong place, the affine step done wrongly."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import AFFINE, MEAN, VAR, X_HAT, in_group

FORMULA: tuple[Mistake, ...] = (
    in_group(
        "unbiased-variance", "output", "The groups are normalized with the unbiased variance",
        "Every output is too small by the factor sqrt((m-1)/m); a group of one value gives NaN.",
        "Compare your output with the expected one for a group of two values: what number is their ratio?",
        "bn-forward",
        (VAR, "var = grouped.var(dim=2, keepdim=True)"),
        seen_in=("x.var() and x.std() with their default arguments",),
    ),
    in_group(
        "no-square-root", "output", "The centred values are divided by the variance, not by its square root",
        "The outputs have variance 1/var: right only for data whose variance is already 1.",
        "If x is measured in metres, in what unit is the variance, and what unit should x_hat have?",
        "bn-forward",
        (X_HAT, "x_hat = (grouped - mean) / (var + self.eps)"),
    ),
    in_group(
        "variance-squared", "output", "The denominator is a power of the variance, but not its root",
        "Outputs are nearly 0 for large data and huge for small data.",
        "A root is a power. Which exponent is it, and which one have you written?",
        "bn-forward",
        (X_HAT, "x_hat = (grouped - mean) / (var + self.eps) ** 2"),
    ),
    in_group(
        "multiplied-by-std", "output", "The centred values are multiplied by the standard deviation",
        "Large inputs come out larger still.",
        "Feed the layer 10 x. A normalization should give the same answer as for x. Does yours?",
        "bn-forward",
        (X_HAT, "x_hat = (grouped - mean) / torch.rsqrt(var + self.eps)"),
        seen_in=("sqrt and rsqrt mixed up",),
    ),
    in_group(
        "no-centring", "output", "The values are divided by the standard deviation without subtracting the mean",
        "The outputs have unit variance, and a mean of mu/sigma in place of 0.",
        "Add 100 to every input: which of the statistics of your output change, and which should?",
        "bn-forward",
        (X_HAT, "x_hat = grouped / torch.sqrt(var + self.eps)"),
    ),
    in_group(
        "mean-only", "output", "The mean is subtracted, but nothing is divided by the standard deviation",
        "The outputs have mean 0 and the variance of the input.",
        "A test that only looks at the means of the output passes. Which second property should the output have?",
        "bn-forward",
        (X_HAT, "x_hat = grouped - mean"),
    ),
    in_group(
        "mean-of-squares", "output", "The variance is the mean of x squared, without subtracting the mean",
        "Right for data centred at 0; data with an offset come out far too small.",
        "Compute the variance of the numbers 10, 10, 10 by hand, then with your line.",
        "bn-forward",
        (VAR, "var = (grouped**2).mean(dim=2, keepdim=True)"),
    ),
    in_group(
        "mean-absolute-deviation", "output", "The spread is the mean absolute difference, not the standard deviation",
        "Outputs are a little too large; two values per group are right all the same.",
        "There are several measures of spread. Which one does the formula square before it averages?",
        "bn-forward",
        (VAR, "var = (grouped - mean).abs().mean(dim=2, keepdim=True) ** 2"),
    ),
    in_group(
        "channel-mean-subtracted", "output", "Each channel loses its own mean, while the spread is the group's",
        "Every channel has mean 0; in group normalization only the group has.",
        "Mean and variance belong to the same set. Count how many means you subtract and how many variances you use.",
        "the-set",
        (X_HAT, "inner = x.flatten(2) if x.dim() > 2 else x[..., None]\n"
                "        inner = (inner - inner.mean(dim=2, keepdim=True)).reshape(grouped.shape)\n"
                "        x_hat = inner / torch.sqrt(var + self.eps)"),
    ),
    in_group(
        "bias-before-weight", "output", "The bias is added before the multiplication by the weight",
        "A fresh layer is right (weight 1, bias 0); with trained parameters the shift is weight * bias.",
        "With the input at its mean, x_hat is 0. Which number should come out then?",
        "affine",
        (AFFINE, "return self.weight.view(shape) * (x_hat + self.bias.view(shape))"),
    ),
    in_group(
        "weight-bias-swapped", "output", "weight shifts and bias scales: the two parameters have changed places",
        "A fresh layer returns ones everywhere.",
        "A fresh layer has weight 1 and bias 0 and should change nothing about x_hat. Put these numbers into your line.",
        "affine",
        (AFFINE, "return self.bias.view(shape) * x_hat + self.weight.view(shape)"),
    ),
    in_group(
        "affine-forgotten", "output", "weight and bias exist, but the output does not use them",
        "A fresh layer is right; training the parameters has no effect.",
        "Set the weight to 2 and the bias to 1. What should change in the output, and does it?",
        "affine",
        (AFFINE, "return x_hat + 0 * (self.weight.view(shape) + self.bias.view(shape))"),
    ),
    in_group(
        "eps-outside-root", "output", "eps is added to the standard deviation, outside the root",
        "Invisible at unit variance; small numbers come out too small.",
        "With a variance of 0 and eps of 0.01, what is the denominator: 0.01 or 0.1?",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / (torch.sqrt(var) + self.eps)"),
    ),
    in_group(
        "no-eps", "output", "eps is not used at all",
        "A constant group, or a group of one value, gives NaN.",
        "Feed the layer a constant. Which two numbers are then divided?",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / torch.sqrt(var)"),
    ),
    in_group(
        "eps-subtracted", "output", "eps is subtracted from the variance",
        "A constant group gives NaN: the root of a negative number.",
        "What is eps for? Look at the smallest variance that can occur.",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / torch.sqrt(var - self.eps)"),
    ),
    in_group(
        "eps-after-division", "output", "eps is added to the quotient: the brackets are missing",
        "The outputs have mean eps in place of 0; a constant group gives NaN.",
        "Division comes before addition. Where does your denominator end?",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / torch.sqrt(var) + self.eps"),
    ),
    in_group(
        "eps-as-floor", "output", "eps is a lower bound for the variance, not added to it",
        "Right for variances far from eps, wrong for small ones and for a large eps.",
        "For a variance of 1 and eps of 0.5, is the denominator the root of 1 or of 1.5?",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / torch.sqrt(var.clamp(min=self.eps))"),
    ),
    in_group(
        "batch-statistics-in-evaluation", "output", "In evaluation mode the mean of the last training batch is used",
        "Training is right; evaluation depends on what was seen before.",
        "What does group normalization remember between two calls? Compare with batch normalization.",
        "the-set",
        (MEAN, MEAN + "\n        if self.training:\n            self.kept = mean.detach().mean(dim=0, keepdim=True)\n"
               '        elif hasattr(self, "kept"):\n            mean = self.kept'),
    ),
    in_group(
        "untouched-in-evaluation", "output", "In evaluation mode the input is not normalized",
        "Training is right; evaluation returns weight * x + bias.",
        "Where does the formula of this layer speak of a mode?",
        "the-set",
        (X_HAT, X_HAT + "\n        if not self.training:\n            x_hat = grouped"),
    ),
)  # fmt: skip
