"""Mistakes in LayerNorm that its output does not show: gradients, dtypes, memory, a large mean."""

from __future__ import annotations

from solutions.lab02_layer_norm.plain import AFFINE, FORWARD, MEAN, PLAIN_LAYER, VAR, X_HAT, edit, in_layer

DETACHED_HINT = "If one x changes, the mean and the variance of its row change too. How does autograd learn of that?"

FUNCTION = '''\
import torch
from torch import nn


class _Normalize(torch.autograd.Function):
    """Layer norm with its own backward pass; the last `k` axes are normalized."""

    @staticmethod
    def forward(ctx, x, weight, bias, k, eps):
        axes = tuple(range(-k, 0))
        centred = x - x.mean(axes, keepdim=True)
        inv_std = ((centred**2).mean(axes, keepdim=True) + eps).rsqrt()
        x_hat = centred * inv_std
        ctx.save_for_backward(x_hat, inv_std, weight)
        ctx.axes = axes
        if weight is None:
            return x_hat.clone()
        return x_hat * weight + bias

    @staticmethod
    def backward(ctx, grad_out):
        x_hat, inv_std, weight = ctx.saved_tensors
        leading = tuple(range(grad_out.dim() - len(ctx.axes)))
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_out * x_hat).sum(leading) if leading else grad_out * x_hat
        if ctx.needs_input_grad[2]:
            grad_bias = grad_out.sum(leading) if leading else grad_out.clone()
        if ctx.needs_input_grad[0]:
            g = grad_out if weight is None else grad_out * weight
            along = (g * x_hat).mean(ctx.axes, keepdim=True)
            grad_x = inv_std * (g - g.mean(ctx.axes, keepdim=True) - x_hat * along)
        return grad_x, grad_weight, grad_bias, None, None


'''
FUNCTION_LAYER = FUNCTION + edit(
    PLAIN_LAYER.removeprefix("import torch\nfrom torch import nn\n\n\n"),
    ("        axes = tuple(range(-k, 0))\n", ""),
    (f"        {MEAN}\n        {VAR}\n        {X_HAT}\n", ""),
    (
        f"        if self.weight is None:\n            return x_hat\n        {AFFINE}\n",
        "        return _Normalize.apply(x, self.weight, self.bias, k, self.eps)\n",
    ),
)

FLAT = """\
flat = x.view(*x.shape[: x.dim() - k], -1)
        mean = flat.mean(dim=-1, keepdim=True)
        var = ((flat - mean) ** 2).mean(dim=-1, keepdim=True)
        x_hat = ((flat - mean) / torch.sqrt(var + self.eps)).view(x.shape)"""

GRADIENTS = (
    in_layer(
        "mean-detached",
        "gradients",
        "The mean is cut out of the graph",
        "The output is right; the gradients of a row of x don't add up to 0.",
        DETACHED_HINT,
        "frozen-backward",
        (X_HAT, X_HAT.replace("(x - mean)", "(x - mean.detach())")),
    ),
    in_layer(
        "variance-detached",
        "gradients",
        "The variance is cut out of the graph",
        "The output is right; the gradient of x keeps a part along x_hat.",
        DETACHED_HINT,
        "frozen-backward",
        (VAR, VAR + ".detach()"),
    ),
    in_layer(
        "statistics-without-grad",
        "gradients",
        "Mean and variance are computed under no_grad",
        "The output is right; the gradient of x is wrong by 20 to 50 %.",
        DETACHED_HINT + " In batch norm no_grad is for the running statistics; there are none here.",
        "frozen-backward",
        (
            f"        {MEAN}\n        {VAR}\n",
            f"        with torch.no_grad():\n            {MEAN}\n            {VAR}\n",
        ),
        seen_in=("A095",),
    ),
    in_layer(
        "weight-data",
        "gradients",
        "weight and bias are used as .data, so no gradient reaches them",
        "weight.grad stays None and training never moves weight and bias.",
        "What does .data leave out?",
        "affine",
        (AFFINE, "return self.weight.data * x_hat + self.bias.data"),
    ),
    in_layer(
        "root-before-eps",
        "gradients",
        "The root is taken of the variance alone, and eps comes in afterwards, squared",
        "The output is right. For a constant row the gradient is NaN.",
        "What is the slope of the root at 0? Let eps come in before the root is taken.",
        "epsilon",
        (X_HAT, "x_hat = (x - mean) / torch.hypot(torch.sqrt(var), var.new_tensor(self.eps).sqrt())"),
    ),
    in_layer(
        "function-frozen-parameters",
        "gradients",
        "The autograd.Function fails when a parameter is frozen",
        "UnboundLocalError in backward: a gradient was never assigned, since nobody needed it.",
        "backward returns one value per input of forward, whatever is needed. What is returned for an input that "
        "needs no gradient?",
        "frozen-backward",
        ("        grad_x = grad_weight = grad_bias = None\n", ""),
        seen_in=("A106",),
        source=FUNCTION_LAYER,
    ),
    in_layer(
        "function-wrong-need",
        "gradients",
        "The autograd.Function asks about the wrong input whether a gradient is needed",
        "With x frozen, weight gets no gradient.",
        "ctx.needs_input_grad has one entry for each argument of forward, in order. Count which one weight is.",
        "frozen-backward",
        ("if ctx.needs_input_grad[1]:", "if ctx.needs_input_grad[0]:"),
        seen_in=("A107",),
        source=FUNCTION_LAYER,
    ),
    in_layer(
        "function-averaged",
        "gradients",
        "The autograd.Function averages weight's gradient over the rows",
        "weight.grad is too small by the number of rows.",
        "One weight serves every row. What does a loss that adds up over the rows do to its gradient?",
        "ln-backward",
        ("grad_weight = (grad_out * x_hat).sum(leading)", "grad_weight = (grad_out * x_hat).mean(leading)"),
        source=FUNCTION_LAYER,
    ),
    in_layer(
        "function-weight-too-late",
        "gradients",
        "The autograd.Function multiplies by weight after the means were taken",
        "Right while all weights are equal; wrong as soon as training moves them.",
        "weight differs inside a set. May it be drawn in front of a mean over that set?",
        "ln-backward",
        (
            "            g = grad_out if weight is None else grad_out * weight\n",
            "            g = grad_out\n            scale = 1 if weight is None else weight\n",
        ),
        ("grad_x = inv_std * (g", "grad_x = scale * inv_std * (g"),
        source=FUNCTION_LAYER,
    ),
)

NUMERICS = (
    in_layer(
        "one-pass-variance",
        "large-mean",
        "The variance is computed as the mean of the squares less the square of the mean",
        "Right in float64. In float32 nothing is left of it when the mean is large.",
        "Subtract two float32 numbers near 10 000 that differ by 1. How many digits does the difference have?",
        "numerics",
        (VAR, "var = (x**2).mean(dim=axes, keepdim=True) - mean**2"),
    ),
    in_layer(
        "view-of-strided",
        "numerics",
        "The axes of a set are joined by view, which refuses some memory layouts",
        "A transposed input stops with 'view size is not compatible'.",
        "When can two axes be seen as one without moving a number? What does reshape do when they can't?",
        "numerics",
        (f"        {MEAN}\n        {VAR}\n        {X_HAT}\n", f"        {FLAT}\n"),
        seen_in=("the first version of this course",),
    ),
    in_layer(
        "always-float32",
        "output",
        "Everything is converted to float32, the output too",
        "A float64 input comes out as float32.",
        "Which dtype should the output have? Print it for inputs of both.",
        "numerics",
        (FORWARD, FORWARD + "        x = x.float()\n"),
        (AFFINE, "return self.weight.float() * x_hat + self.bias.float()"),
    ),
    in_layer(
        "always-float64",
        "numerics",
        "Everything is converted to float64, the output too",
        "A float32 input comes out as float64, and the next layer refuses it.",
        "Which dtype should the output have? Print it for inputs of both.",
        "numerics",
        (FORWARD, FORWARD + "        x = x.double()\n"),
        seen_in=("A083",),
    ),
    in_layer(
        "input-overwritten",
        "numerics",
        "x is overwritten",
        "The output is right; whoever uses x afterwards, a skip connection say, gets other numbers.",
        "Compare x before and after the call. Which line writes into it?",
        "as-a-module",
        (X_HAT, X_HAT + "\n        x.data = x_hat.detach().clone()"),
        seen_in=("A082",),
    ),
)
