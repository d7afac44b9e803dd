"""Mistakes in what the gradient of BatchRenorm1d flows through: the statistics, and neither r nor d."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab06_beyond.plain import NO_GRAD, SIGMA, X_HAT, D, R, in_renorm

CLAMPS = f"{NO_GRAD}                {R}\n                {D}\n"
# As R and D, of copies: the update changes the buffers in place, which a graph through them would not survive.
OWN_R = R.replace("self.running_std", "self.running_std.clone()")
OWN_D = D.replace("self.running_std", "self.running_std.clone()")

GRADIENTS: tuple[Mistake, ...] = (
    in_renorm(
        "gradient-through-r",
        "gradients",
        "The gradient flows through r",
        "Values are right; with r unclipped sigma cancels, and the gradient lacks the part that keeps the spread fixed.",
        "The task says that r is a constant for the gradient. What does autograd believe in your layer?",
        "batch-renorm-gradient",
        (CLAMPS, f"            {OWN_R}\n{NO_GRAD}                {D}\n"),
    ),
    in_renorm(
        "gradient-through-d",
        "gradients",
        "The gradient flows through d",
        "Values are right; the gradients of a channel no longer add up to 0.",
        "d moves when the batch mean moves. Should the gradient know of it?",
        "batch-renorm-gradient",
        (CLAMPS, f"{NO_GRAD}                {R}\n            {OWN_D}\n"),
    ),
    in_renorm(
        "gradient-through-both",
        "gradients",
        "The gradient flows through r and d: clamp keeps it wherever nothing is clipped",
        "Values are right; unclipped, the gradient is that of a fixed scaling, as if there were no batch statistics.",
        "clamp stops a gradient only where it clips. What else is needed to make r and d constants?",
        "batch-renorm-gradient",
        (CLAMPS, f"            {OWN_R}\n            {OWN_D}\n"),
    ),
    in_renorm(
        "graph-through-the-buffers",
        "gradients",
        "r and d are in the graph, and the update then changes the running values that this graph needs",
        "backward() stops: one of the variables needed for gradient computation has been modified by an inplace operation.",
        "Which of the four numbers in r and d should autograd follow at all?",
        "batch-renorm-gradient",
        (NO_GRAD, "            if True:\n"),
    ),
    in_renorm(
        "statistics-detached",
        "gradients",
        "Mean and sigma are computed without a graph",
        "Values are right; the gradient of the input lacks what flows back through the batch's statistics.",
        "r and d are constants. Are the mean and the sigma that x is normalized with?",
        "batch-renorm-gradient",
        (X_HAT, "x_hat = (x - mean.detach().view(shape)) / sigma.detach().view(shape)\n"),
    ),
    in_renorm(
        "sigma-detached",
        "gradients",
        "sigma is computed without a graph",
        "Values are right; the gradient of the input lacks the part along x_hat.",
        "Every input moves the spread a little. Where in your forward is that connection cut?",
        "batch-renorm-gradient",
        (X_HAT, "x_hat = (x - mean.view(shape)) / sigma.detach().view(shape)\n"),
    ),
    in_renorm(
        "r-left-out-of-the-gradient",
        "gradients",
        "The correction is added as a constant: values right, gradient that of batch norm",
        "The gradient of x lacks the factor r.",
        "r is a constant, and a constant factor multiplies the gradient as well.",
        "batch-renorm-gradient",
        (
            "x_hat = x_hat * r.view(shape) + d.view(shape)",
            "x_hat = x_hat + (x_hat * (r.view(shape) - 1) + d.view(shape)).detach()",
        ),
    ),
    in_renorm(
        "root-before-eps",
        "gradients",
        "The root of the bare variance is on the way to sigma: its derivative at 0 is infinite",
        "Values are right everywhere, but a constant channel gets NaN for a gradient.",
        "What is the derivative of the square root at 0? Then look at which number eps is added to before a root is taken.",
        "epsilon",
        (SIGMA, "sigma = torch.sqrt(torch.sqrt(var) ** 2 + self.eps)"),
    ),
)
