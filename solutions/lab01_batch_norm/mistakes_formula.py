"""Mistakes in the forward formula of a layer: the wrong variance, a step left out, the affine step done wrongly.

Not here: which axes are averaged (mistakes_axes), where eps goes (mistakes_eps).
"""

from __future__ import annotations

from solutions.lab01_batch_norm.plain import AFFINE, X_HAT, in_layers

FORMULA = (
    *in_layers(
        "unbiased-variance",
        "training",
        "The batch is normalized with the unbiased variance",
        "Every output is too small by the factor sqrt((n-1)/n); the smaller the batch, the worse.",
        "Compare your output with the expected one for a batch of two rows: what number is their ratio? "
        "Then ask which of the two variances describes this batch, and which one estimates a population.",
        "bn-forward",
        ("** 2).mean(dim=axes)", "** 2).sum(dim=axes) / (n - 1)"),
        ("(var * n / (n - 1) - self.running_var)", "(var - self.running_var)"),
        seen_in=("x.var() and x.std() with their default arguments",),
    ),
    *in_layers(
        "no-square-root",
        "training",
        "The centred values are divided by the variance, not by its square root",
        "The outputs have variance 1/var: right only for data whose variance is already 1.",
        "Check the units: if x is measured in metres, in what unit is the variance, and what unit should x_hat have?",
        "bn-forward",
        (X_HAT, "x_hat = (x - mean.view(shape)) / (var.view(shape) + self.eps)"),
    ),
    *in_layers(
        "root-taken-twice",
        "training",
        "The standard deviation is used as if it were the variance, so the root is taken twice",
        "Outputs of data with standard deviation 4 come out twice too large; data of unit variance look right.",
        "Follow one number from the data to the denominator and count how many square roots it passes.",
        "bn-forward",
        ("self.update(mean, var, n)\n", "self.update(mean, var, n)\n            var = var.sqrt()\n"),
    ),
    *in_layers(
        "multiplied-by-std",
        "training",
        "The centred values are multiplied by the standard deviation",
        "Large inputs come out larger still: the output has the variance of x squared.",
        "Feed the layer 10 x. A normalization should give the same answer as for x. Does yours?",
        "bn-forward",
        (X_HAT, "x_hat = (x - mean.view(shape)) * torch.sqrt(var.view(shape) + self.eps)"),
        seen_in=("sqrt and rsqrt mixed up",),
    ),
    *in_layers(
        "mean-only",
        "training",
        "The mean is subtracted, but nothing is divided by the standard deviation",
        "The outputs have mean 0 and the variance of the input.",
        "A test that only looks at the mean of the output passes. Which second property should the output have?",
        "bn-forward",
        (X_HAT, "x_hat = x - mean.view(shape)"),
        seen_in=("passes the test printed with the first version of this lab",),
    ),
    *in_layers(
        "no-centring",
        "training",
        "The values are divided by the standard deviation without subtracting the mean",
        "The outputs have unit variance, and a mean of mu/sigma in place of 0.",
        "Add 100 to every input: which of the statistics of your output change, and which should?",
        "bn-forward",
        (X_HAT, "x_hat = x / torch.sqrt(var.view(shape) + self.eps)"),
    ),
    *in_layers(
        "untouched-input",
        "training",
        "The statistics are computed, but the input is passed on without normalization",
        "The output equals weight * x + bias.",
        "Print the mean and the variance of your output for data with mean 3 and standard deviation 5.",
        "bn-forward",
        (X_HAT, "x_hat = x"),
        seen_in=("the identity passes the test printed with the first version of this lab nine times in ten",),
    ),
    *in_layers(
        "difference-turned-round",
        "training",
        "The difference is taken the wrong way round: mean - x",
        "Every normalized value has the wrong sign; mean and variance of the output are right.",
        "Take the largest value of a column. Should it come out positive or negative?",
        "bn-forward",
        (X_HAT, "x_hat = (mean.view(shape) - x) / torch.sqrt(var.view(shape) + self.eps)"),
    ),
    *in_layers(
        "divided-by-channels",
        "training",
        "The sums are divided by the number of channels in place of the number of values averaged",
        "The statistics are off by the factor n / C; they look right whenever n equals C.",
        "How many numbers are added up for one channel? Write that count down for a batch with N different from C.",
        "the-set",
        ("mean = x.mean(dim=axes)", "mean = x.sum(dim=axes) / x.shape[1]"),
        ("** 2).mean(dim=axes)", "** 2).sum(dim=axes) / x.shape[1]"),
    ),
    *in_layers(
        "mean-of-squares",
        "training",
        "The variance is the mean of x squared, without subtracting the mean",
        "Right for data centred at 0; data with an offset come out far too small.",
        "Compute the variance of the numbers 10, 10, 10 by hand, then with your line.",
        "bn-forward",
        ("var = ((x - mean.view(shape)) ** 2)", "var = (x**2)"),
    ),
    *in_layers(
        "bias-before-weight",
        "training",
        "The bias is added before the multiplication by the weight",
        "A fresh layer is right (weight 1, bias 0); with trained parameters the shift is weight * bias.",
        "With the input at its mean, x_hat is 0. Which number should come out then?",
        "affine",
        (AFFINE, "return self.weight.view(shape) * (x_hat + self.bias.view(shape))"),
    ),
    *in_layers(
        "weight-bias-swapped",
        "training",
        "weight shifts and bias scales: the two parameters have changed places",
        "A fresh layer returns ones everywhere.",
        "A fresh layer has weight 1 and bias 0 and should change nothing about x_hat. Put these numbers into your "
        "line.",
        "affine",
        (AFFINE, "return self.bias.view(shape) * x_hat + self.weight.view(shape)"),
    ),
    *in_layers(
        "affine-forgotten",
        "training",
        "weight and bias exist, but the output does not use them",
        "A fresh layer is right; training the parameters has no effect and they receive no gradient.",
        "Set the weight to 2 and the bias to 1. What should change in the output, and does it?",
        "affine",
        (AFFINE, "return x_hat"),
    ),
    *in_layers(
        "running-in-training",
        "training",
        "In training mode the output is computed from the running statistics",
        "The first outputs are hardly normalized; after many steps of the same data they look right.",
        "Which statistics make the output of this batch have mean 0 and variance 1? Where do the others come in?",
        "bn-running-statistics",
        (
            "self.update(mean, var, n)\n",
            "self.update(mean, var, n)\n"
            "                mean, var = self.running_mean.clone(), self.running_var.clone()\n",
        ),
    ),
)
