"""Mistakes in grad_x of batch_norm_backward. The other two gradients, and numerics: mistakes_backward_rest."""

from __future__ import annotations

from solutions.lab01_batch_norm.plain import in_backward

VAR = "var = ((x - mean) ** 2).mean(dim=0)"
G = "g = grad_out * weight"
MEAN_TERM = "mean_term = g.mean(dim=0)"
X_HAT_TERM = "x_hat_term = x_hat * (g * x_hat).mean(dim=0)"
GRAD_X = "grad_x = inv_std * (g - mean_term - x_hat_term)"
SHORT_CHECK = (
    "The gradients of a column must add up to 0, and so must they weighted with x_hat (up to eps). Which fails?"
)

STAGED = """\
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    n = x.shape[0]
    centred = x - x.mean(dim=0)
    var = (centred**2).mean(dim=0)
    std = torch.sqrt(var + eps)
    x_hat = centred / std
    grad_weight = (grad_out * x_hat).sum(dim=0)
    grad_bias = grad_out.sum(dim=0)
    grad_x_hat = grad_out * weight
    grad_var = (grad_x_hat * centred).sum(dim=0) * -0.5 * (var + eps) ** -1.5
    grad_mean = -(grad_x_hat / std).sum(dim=0)
    grad_x = grad_x_hat / std + grad_var * 2 * centred / n + grad_mean / n
    return grad_x, grad_weight, grad_bias
"""


def _staged(old: str, new: str) -> str:
    if STAGED.count(old) != 1:
        raise ValueError(f"{old!r} must stand once in the staged source")
    return STAGED.replace(old, new)


INPUT = (
    in_backward(
        "mean-term-dropped", "input", "grad_x lacks the part that flows through the mean",
        "The gradients of a column don't add up to 0.",
        "x reaches the output along three ways: directly, through the mean, through the variance. " + SHORT_CHECK,
        "bn-backward", (GRAD_X, "grad_x = inv_std * (g - x_hat_term)"),
    ),
    in_backward(
        "x-hat-term-dropped", "input", "grad_x lacks the part that flows through the variance",
        "The gradients of a column add up to 0, but not when weighted with x_hat.",
        "x reaches the output along three ways: directly, through the mean, through the variance. " + SHORT_CHECK,
        "bn-backward", (GRAD_X, "grad_x = inv_std * (g - mean_term)"),
    ),
    in_backward(
        "statistics-held-constant", "input", "grad_x treats mean and variance as constants",
        "That is the gradient of evaluation mode: right there, wrong in training.",
        "If one x changes, the mean and the variance of its column change too. Two terms of the gradient come from "
        "that.",
        "frozen-backward", (GRAD_X, "grad_x = inv_std * g"),
    ),
    in_backward(
        "mean-term-sign", "input", "The mean of the gradient is added where it should be subtracted",
        "The gradients of a column add up to twice their share, not to 0.",
        "The mean enters x_hat with a minus sign. Carry it through the chain rule.",
        "bn-backward", (GRAD_X, "grad_x = inv_std * (g + mean_term - x_hat_term)"),
    ),
    in_backward(
        "x-hat-term-sign", "input", "The x_hat term is added where it should be subtracted",
        "The part of the gradient along x_hat is doubled; it should vanish.",
        "What sign has the derivative of v ** -0.5? Carry it through the chain rule.",
        "bn-backward", (GRAD_X, "grad_x = inv_std * (g - mean_term + x_hat_term)"),
    ),
    in_backward(
        "sums-in-place-of-means", "input", "The two correction terms are sums over the batch, not means",
        "The corrections are n times too large.",
        "The mean has a factor 1/n in it. Where does it go when you differentiate?",
        "bn-backward",
        (MEAN_TERM, "mean_term = g.sum(dim=0)"),
        (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat).sum(dim=0)"),
    ),
    in_backward(
        "divided-by-features", "input", "The corrections are divided by the number of features, not of rows",
        "Right only when the batch has as many rows as columns.",
        "Test with N different from C. Which of the two is the n in the mean?",
        "bn-backward",
        (MEAN_TERM, "mean_term = g.sum(dim=0) / x.shape[1]"),
        (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat).sum(dim=0) / x.shape[1]"),
    ),
    in_backward(
        "divided-by-n-minus-one", "input", "The corrections are divided by n - 1",
        "Off by n/(n-1): most of all for small batches.",
        "The normalization used the biased variance. Which divisor does its derivative inherit?",
        "bn-backward",
        (MEAN_TERM, "mean_term = g.sum(dim=0) / (x.shape[0] - 1)"),
        (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat).sum(dim=0) / (x.shape[0] - 1)"),
    ),
    in_backward(
        "elementwise-x-hat-term",
        "input",
        "The x_hat term multiplies element by element and never averages over the batch",
        "Each row's gradient ignores what the other rows send back.",
        "The variance gathers from all rows, so its gradient is one number per column. Which operation makes one "
        "number of a column?",
        "bn-backward", (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat)"),
    ),
    in_backward(
        "averaged-over-features",
        "input",
        "The corrections average over the features of a row, as in layer normalization",
        "Rows add up to 0; columns, which should, don't.",
        "Which values shared a mean in the forward pass? The same ones share it in the backward pass.",
        "ln-backward",
        (MEAN_TERM, "mean_term = g.mean(dim=1, keepdim=True)"),
        (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat).mean(dim=1, keepdim=True)"),
    ),
    in_backward(
        "averaged-over-everything", "input", "The corrections average over the whole matrix, not over each column",
        "Every column gets the same correction.",
        "Print the shape of your mean of the gradient. How many numbers should it be?",
        "bn-backward",
        (MEAN_TERM, "mean_term = g.mean()"),
        (X_HAT_TERM, "x_hat_term = x_hat * (g * x_hat).mean()"),
    ),
    in_backward(
        "weight-missing", "input", "grad_x lacks the factor weight",
        "Right for a fresh layer, whose weight is 1.",
        "On its way back the gradient passes the multiplication by weight first. Test with weights other than 1.",
        "bn-backward", (G, "g = grad_out"),
    ),
    in_backward(
        "weight-twice", "input", "grad_x has the factor weight twice",
        "Right for a fresh layer; with a weight of 3 it is three times too large.",
        "Count how often weight stands in the forward formula, and then in your gradient.",
        "bn-backward", (GRAD_X, "grad_x = weight * inv_std * (g - mean_term - x_hat_term)"),
    ),
    in_backward(
        "weight-inside-x-hat", "input", "weight has got into x_hat before the backward formula uses it",
        "The x_hat term has the factor weight squared too much.",
        "x_hat is what the formula says: centred and scaled, nothing else. Which of your tensors do you call x_hat?",
        "bn-backward", (X_HAT_TERM, "x_hat_term = weight * x_hat * (g * weight * x_hat).mean(dim=0)"),
    ),
    in_backward(
        "scale-missing", "input", "grad_x lacks the division by the standard deviation",
        "Right for data of unit variance.",
        "Multiply the data by 10: the output stays the same, so what must happen to the gradient?",
        "bn-backward", (GRAD_X, "grad_x = g - mean_term - x_hat_term"),
    ),
    in_backward(
        "divided-by-variance", "input", "grad_x is divided by the variance, not by the standard deviation",
        "Right for data of unit variance.",
        "Multiply the data by 10: by which factor should the gradient fall?",
        "bn-backward", (GRAD_X, "grad_x = inv_std**2 * (g - mean_term - x_hat_term)"),
    ),
    in_backward(
        "centred-for-x-hat",
        "input",
        "The variance term lacks a factor 1/variance: x - mean stands where x_hat belongs",
        "Right for data of unit variance. A root differentiated to the power -1/2, not -3/2, does the same.",
        "Two factors 1/std belong to this term besides the one in front. Check the units of each term.",
        "bn-backward", (X_HAT_TERM, "x_hat_term = (x - mean) * (g * (x - mean)).mean(dim=0)"),
    ),
    in_backward(
        "raw-x-for-x-hat", "input", "The variance term uses the raw x where x_hat belongs",
        "Grows with the offset of the data, which should not matter at all.",
        "Add 100 to all of x: should grad_x change?",
        "bn-backward", (X_HAT_TERM, "x_hat_term = x * (g * x).mean(dim=0)"),
    ),
    in_backward(
        "unbiased-variance", "input", "The backward pass uses the unbiased variance",
        "Gradients are off by a power of (n-1)/n: most of all for small batches.",
        "The backward pass belongs to one forward pass. Which variance was used there?",
        "bn-backward", (VAR, "var = ((x - mean) ** 2).sum(dim=0) / (x.shape[0] - 1)"),
    ),
    in_backward(
        "variance-half-missing", "input", "The factor 1/2 from differentiating the root is missing",
        "The variance term is twice too large.",
        "Differentiate v ** -0.5 with respect to v: what becomes of the exponent?",
        "bn-backward", source=_staged("* -0.5 *", "* -1.0 *"),
    ),
    in_backward(
        "square-two-missing", "input", "The factor 2 from differentiating the square is missing",
        "The variance term is half of what it should be.",
        "Differentiate (x - mean) ** 2 with respect to x: what becomes of the exponent?",
        "bn-backward", source=_staged("grad_var * 2 * centred", "grad_var * centred"),
    ),
    in_backward(
        "variance-term-not-averaged", "input", "The derivative of the variance lacks its factor 1/n",
        "The variance term is n times too large.",
        "The variance is a mean. How much of it does one row move?",
        "bn-backward", source=_staged("* 2 * centred / n", "* 2 * centred"),
    ),
    in_backward(
        "order-of-results", "input", "The three gradients are returned in another order",
        "grad_x has the shape of a parameter.",
        "Compare your return line with the order in the contract.",
        "bn-backward", ("return grad_x, grad_weight, grad_bias", "return grad_weight, grad_bias, grad_x"),
    ),
)  # fmt: skip
