"""Mistakes in grad_x of layer_norm_backward. The parameters' gradients, ranks and numerics: mistakes_backward_rest."""

from __future__ import annotations

from solutions.lab02_layer_norm.plain import in_backward

MEAN = "mean = x.mean(dim=-1, keepdim=True)\n"
VAR = "var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)"
INV_STD = "inv_std = 1 / torch.sqrt(var + eps)"
G = "g = grad_out * weight"
MEAN_TERM = "mean_term = g.mean(dim=-1, keepdim=True)"
X_HAT_TERM = "x_hat_term = x_hat * (g * x_hat).mean(dim=-1, keepdim=True)"
GRAD_X = "grad_x = inv_std * (g - mean_term - x_hat_term)"
RETURN = "return grad_x, grad_weight, grad_bias"
SUMS = "The gradients of a row must add up to 0, and so must they weighted with x_hat (up to eps). Which fails?"

AUTOGRAD = """\
import torch


@torch.enable_grad()
def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    bias = torch.zeros_like(weight, requires_grad=True)
    mean = x.mean(dim=-1, keepdim=True)
    var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    y = weight * (x - mean) / torch.sqrt(var + eps) + bias
    return torch.autograd.grad((y * grad_out).sum(), (x, weight, bias))
"""

OPERATOR = """\
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    rstd = (((x - mean) ** 2).mean(dim=-1, keepdim=True) + eps).rsqrt()
    bias = torch.zeros_like(weight)
    return torch.ops.aten.native_layer_norm_backward(
        grad_out, x, x.shape[-1:], mean, rstd, weight, bias, [True, True, True]
    )
"""

INPUT = (
    in_backward(
        "mean-term-dropped",
        "input",
        "grad_x lacks the part that flows through the mean",
        "The gradients of a row don't add up to 0; for RMSNorm that would be right.",
        "x reaches the output along three ways: directly, through the mean, through the variance. " + SUMS,
        "ln-backward",
        (GRAD_X, "grad_x = inv_std * (g - x_hat_term)"),
    ),
    in_backward(
        "x-hat-term-dropped",
        "input",
        "grad_x lacks the part that flows through the variance",
        "The gradients of a row add up to 0, but not when weighted with x_hat.",
        "x reaches the output along three ways: directly, through the mean, through the variance. " + SUMS,
        "ln-backward",
        (GRAD_X, "grad_x = inv_std * (g - mean_term)"),
    ),
    in_backward(
        "statistics-held-constant",
        "input",
        "grad_x treats mean and variance as constants",
        "That is the gradient of a scaling by fixed numbers, as batch norm in evaluation.",
        "If one x changes, the mean and the variance of its row change too. Two terms come from that.",
        "frozen-backward",
        (GRAD_X, "grad_x = inv_std * g"),
    ),
    in_backward(
        "mean-term-sign",
        "input",
        "The mean of the gradient is added where it should be subtracted",
        "The gradients of a row add up to twice their share, not to 0.",
        "The mean enters x_hat with a minus sign. Carry it through the chain rule.",
        "ln-backward",
        (GRAD_X, "grad_x = inv_std * (g + mean_term - x_hat_term)"),
    ),
    in_backward(
        "x-hat-term-sign",
        "input",
        "The x_hat term is added where it should be subtracted",
        "The part of the gradient along x_hat is doubled; it should vanish.",
        "What sign has the derivative of v ** -0.5? Carry it through the chain rule.",
        "ln-backward",
        (GRAD_X, "grad_x = inv_std * (g - mean_term + x_hat_term)"),
    ),
    in_backward(
        "sums-in-place-of-means",
        "input",
        "The two correction terms are sums over the features, not means",
        "The corrections are D times too large.",
        "The mean has a factor 1/D in it. Where does it go when you differentiate?",
        "ln-backward",
        (MEAN_TERM, MEAN_TERM.replace(".mean(", ".sum(")),
        (X_HAT_TERM, X_HAT_TERM.replace(".mean(", ".sum(")),
    ),
    in_backward(
        "divided-by-the-rows",
        "input",
        "The corrections are divided by the number of rows, not of features",
        "Right by chance where there are as many rows as features.",
        "Over which set was the mean taken in the forward pass, and how many values has it?",
        "ln-backward",
        (MEAN_TERM, "mean_term = g.sum(dim=-1, keepdim=True) / len(x)"),
        (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat).sum(dim=-1, keepdim=True) / len(x)"),
        seen_in=("A100", "A019"),
    ),
    in_backward(
        "corrections-over-the-batch",
        "input",
        "The corrections are means over the rows, as in batch norm",
        "The columns of grad_x add up to 0; its rows should.",
        "The corrections come from the mean and the variance. Along which axis were those taken?",
        "ln-backward",
        (MEAN_TERM, "mean_term = g.mean(dim=leading, keepdim=True)"),
        (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat).mean(dim=leading, keepdim=True)"),
        seen_in=("A101",),
    ),
    in_backward(
        "batch-norm-instead",
        "input",
        "It is the backward pass of batch norm",
        "Statistics and corrections run down the columns.",
        "Which numbers share a mean in layer norm? Everything else follows from that.",
        "the-set",
        (MEAN, MEAN.replace("dim=-1", "dim=0")),
        (VAR, VAR.replace("dim=-1", "dim=0")),
        (MEAN_TERM, MEAN_TERM.replace("dim=-1", "dim=0")),
        (X_HAT_TERM, X_HAT_TERM.replace("dim=-1", "dim=0")),
    ),
    in_backward(
        "weight-too-late",
        "input",
        "weight is multiplied in after the means were taken",
        "Right while all weights are equal. In batch norm it is right, since a column has one weight.",
        "weight differs inside a set. May it be drawn in front of a mean over that set?",
        "ln-backward",
        (G, "g = grad_out"),
        (GRAD_X, "grad_x = weight * inv_std * (g - mean_term - x_hat_term)"),
    ),
    in_backward(
        "weight-forgotten",
        "input",
        "grad_x does not contain weight",
        "Right while all weights are 1.",
        "y = weight * x_hat + bias. What is the derivative of y with respect to x_hat?",
        "ln-backward",
        (G, "g = grad_out"),
    ),
    in_backward(
        "scale-forgotten",
        "input",
        "grad_x is not divided by the standard deviation",
        "Right only for rows of variance 1.",
        "Multiply x by 10: y stays as it is. What happens to the gradient?",
        "ln-backward",
        (GRAD_X, "grad_x = g - mean_term - x_hat_term"),
    ),
    in_backward(
        "divided-by-the-variance",
        "input",
        "grad_x is divided by the variance, not by its root",
        "Right only for rows of variance 1.",
        "Multiply x by 10: y stays as it is. What happens to the gradient?",
        "ln-backward",
        (GRAD_X, "grad_x = inv_std**2 * (g - mean_term - x_hat_term)"),
    ),
    in_backward(
        "unbiased-variance",
        "input",
        "The variance is the unbiased one",
        "Everything is off by a factor near sqrt((D - 1) / D).",
        "Differentiate the forward pass that you were given. Which variance is in it?",
        "the-set",
        (VAR, "var = x.var(dim=-1, keepdim=True)"),
        seen_in=("A001",),
    ),
    in_backward(
        "eps-outside-root",
        "input",
        "eps is added to the standard deviation, not to the variance",
        "Invisible at the default; far off for eps=0.5.",
        "Where does eps stand in the forward pass that you differentiate?",
        "epsilon",
        (INV_STD, "inv_std = 1 / (torch.sqrt(var) + eps)"),
        seen_in=("A004",),
    ),
    in_backward(
        "eps-ignored",
        "input",
        "eps is not used: a number stands in its place",
        "Nothing at the default.",
        "Call it with eps=0.5. Does anything change?",
        "epsilon",
        (INV_STD, "inv_std = 1 / torch.sqrt(var + 1e-5)"),
        seen_in=("A011",),
    ),
    in_backward(
        "another-order",
        "input",
        "The three gradients come back in another order",
        "grad_weight stands where grad_x is due.",
        "Compare the order in your return with the task's.",
        "as-a-module",
        (RETURN, "return grad_weight, grad_bias, grad_x"),
    ),
    in_backward(
        "autograd",
        "input",
        "torch's autograd does the work",
        "The numbers are right. The report says that autograd ran.",
        "The task is what autograd would do. Follow the chain rule from y back to x, one symbol after the other.",
        "ln-backward",
        source=AUTOGRAD,
    ),
    in_backward(
        "operator-of-torch",
        "input",
        "torch's own layer_norm_backward does the work",
        "The report names the operator that ran.",
        "The task is what this operator does. Follow the chain rule from y back to x.",
        "ln-backward",
        source=OPERATOR,
    ),
)
