"""Mistakes in grad_weight and grad_bias, and in what ordinary data hide: eps, dtype, memory layout, tiny variances."""

from __future__ import annotations

from solutions.lab01_batch_norm.plain import in_backward

MEAN = "mean = x.mean(dim=0)\n"
VAR = "var = ((x - mean) ** 2).mean(dim=0)"
INV_STD = "inv_std = 1 / torch.sqrt(var + eps)"
GRAD_WEIGHT = "grad_weight = (grad_out * x_hat).sum(dim=0)"
GRAD_BIAS = "grad_bias = grad_out.sum(dim=0)"
G = "g = grad_out * weight"
RETURN = "return grad_x, grad_weight, grad_bias"

PARAMETERS = (
    in_backward(
        "parameters-averaged", "parameters", "grad_weight and grad_bias are means over the batch, not sums",
        "Both are too small by the factor n.",
        "Each row uses the same weight. What does the chain rule do with contributions that meet in one variable?",
        "affine", (GRAD_WEIGHT, GRAD_WEIGHT.replace(".sum", ".mean")), (GRAD_BIAS, GRAD_BIAS.replace(".sum", ".mean")),
    ),
    in_backward(
        "bias-averaged", "parameters", "grad_bias is a mean over the batch, not a sum",
        "It is too small by the factor n; grad_weight is right.",
        "Each row uses the same bias. What does the chain rule do with contributions that meet in one variable?",
        "affine", (GRAD_BIAS, GRAD_BIAS.replace(".sum", ".mean")),
    ),
    in_backward(
        "parameters-swapped", "parameters", "grad_weight and grad_bias are returned in the wrong order",
        "Shapes agree, so nothing fails; the values belong to each other's parameter.",
        "Compare your return line with the order in the contract.",
        "affine", (RETURN, "return grad_x, grad_bias, grad_weight"),
    ),
    in_backward(
        "grad-weight-from-x", "parameters", "grad_weight multiplies by x where x_hat belongs",
        "It depends on the offset and the scale of the data.",
        "What does weight multiply in the forward pass?",
        "affine", (GRAD_WEIGHT, "grad_weight = (grad_out * x).sum(dim=0)"),
    ),
    in_backward(
        "grad-weight-from-centred-x", "parameters", "grad_weight multiplies by x - mean where x_hat belongs",
        "Right for data of unit variance.",
        "What exactly does weight multiply in the forward pass: before or after the division?",
        "affine", (GRAD_WEIGHT, "grad_weight = (grad_out * (x - mean)).sum(dim=0)"),
    ),
    in_backward(
        "grad-weight-times-weight", "parameters", "grad_weight carries a factor weight",
        "Right for a fresh layer, whose weight is 1.",
        "Differentiate weight * x_hat + bias with respect to weight. Is weight still there?",
        "affine", (GRAD_WEIGHT, "grad_weight = (grad_out * weight * x_hat).sum(dim=0)"),
    ),
    in_backward(
        "grad-bias-times-weight", "parameters", "grad_bias carries a factor weight",
        "Right for a fresh layer, whose weight is 1.",
        "Differentiate weight * x_hat + bias with respect to bias.",
        "affine", (GRAD_BIAS, "grad_bias = (grad_out * weight).sum(dim=0)"),
    ),
    in_backward(
        "parameters-keep-axis", "parameters", "grad_weight and grad_bias keep the batch axis: their shape is (1, C)",
        "Autograd would refuse them; an optimizer step broadcasts them.",
        "A gradient has the shape of its parameter. Print both shapes.",
        "affine",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("dim=0", "dim=0, keepdim=True")),
        (GRAD_BIAS, GRAD_BIAS.replace("dim=0", "dim=0, keepdim=True")),
    ),
    in_backward(
        "parameters-summed-over-all",
        "parameters",
        "grad_weight and grad_bias are summed over everything to one number",
        "They are scalars; each channel needs its own.",
        "A gradient has the shape of its parameter. Which axis is to remain?",
        "affine", (GRAD_WEIGHT, GRAD_WEIGHT.replace("dim=0", "")), (GRAD_BIAS, GRAD_BIAS.replace("dim=0", "")),
    ),
    in_backward(
        "parameters-not-summed",
        "parameters",
        "grad_weight and grad_bias are not summed over the batch: one row for each sample",
        "Their shape is (N, C).",
        "A gradient has the shape of its parameter. What happened to the contributions of the rows?",
        "affine", (GRAD_WEIGHT, "grad_weight = grad_out * x_hat"), (GRAD_BIAS, "grad_bias = grad_out.clone()"),
    ),
    in_backward(
        "parameters-sign", "parameters", "grad_weight and grad_bias have the sign of a descent step",
        "Both are the negative of the gradient.",
        "A gradient points uphill. Who turns it round: you, or the optimizer?",
        "affine", (RETURN, "return grad_x, -grad_weight, -grad_bias"),
    ),
)  # fmt: skip

NUMERICS = (
    in_backward(
        "no-eps", "numerics", "eps is missing in the backward pass",
        "Invisible at eps 1e-5 and unit variance; NaN for a constant column.",
        "The backward pass belongs to one forward pass. What stood under the root there?",
        "epsilon", (INV_STD, "inv_std = 1 / torch.sqrt(var)"),
    ),
    in_backward(
        "eps-outside-root", "numerics", "eps is added outside the root",
        "Invisible at the default eps; plain to see with eps=0.5.",
        "Try eps=0.5. What does the formula add eps to?",
        "epsilon", (INV_STD, "inv_std = 1 / (torch.sqrt(var) + eps)"),
    ),
    in_backward(
        "eps-twice", "numerics", "eps is added twice",
        "The variance that was kept from the forward pass already holds eps.",
        "Follow eps from the argument to the root and count.",
        "epsilon", (VAR, "var = ((x - mean) ** 2).mean(dim=0) + eps"),
    ),
    in_backward(
        "eps-argument-ignored", "numerics", "The argument eps is never used",
        "Right at the default, wrong for every other eps.",
        "Call the function with eps=0.5: which line of yours learns about it?",
        "epsilon", (INV_STD, "inv_std = 1 / torch.sqrt(var + 1e-5)"),
    ),
    in_backward(
        "eps-in-first-root-only", "numerics", "x_hat is computed with eps, the factor in front of grad_x without",
        "Invisible at the default eps; plain to see with eps=0.5.",
        "1/std stands in several places of the formula. Is it the same number in all of yours?",
        "epsilon", ("grad_x = inv_std * (", "grad_x = 1 / torch.sqrt(var) * ("),
    ),
    in_backward(
        "one-pass-variance", "numerics", "The variance is computed as mean of squares minus square of the mean",
        "In float32, data with a large mean give a wrong variance, a negative one, or NaN.",
        "Two large, nearly equal numbers are subtracted. How many digits are left for the difference?",
        "numerics", (VAR, "var = (x**2).mean(dim=0) - mean**2"),
    ),
    in_backward(
        "variance-clamped", "numerics", "Small variances are raised to a floor of 1e-3",
        "Columns with a small spread get gradients that are far too small.",
        "Is there a floor in the formula? What does eps do, compared with it?",
        "numerics", (VAR, "var = ((x - mean) ** 2).mean(dim=0).clamp(min=1e-3)"),
    ),
    in_backward(
        "always-float64", "numerics", "Everything is converted to float64 and stays so",
        "float32 goes in, float64 comes out.",
        "More precision inside is fine. Which dtype must the gradient of a float32 tensor have?",
        "numerics",
        (MEAN, "x, grad_out, weight = x.double(), grad_out.double(), weight.double()\n    mean = x.mean(dim=0)\n"),
    ),
    in_backward(
        "always-float32", "numerics", "Everything is converted to float32 and stays so",
        "float64 goes in, float32 comes out.",
        "Which dtype must the gradient of a float64 tensor have?",
        "numerics",
        (MEAN, "x, grad_out, weight = x.float(), grad_out.float(), weight.float()\n    mean = x.mean(dim=0)\n"),
    ),
    in_backward(
        "grad-out-changed", "numerics", "grad_out is changed in place",
        "The caller's tensor is multiplied by weight after the call.",
        "grad_out belongs to the caller: another branch of the graph may still need it. Compare it with a clone taken "
        "before.",
        "numerics", (G, "g = grad_out\n    g *= weight"),
    ),
    in_backward(
        "x-changed", "numerics", "x is centred in place",
        "The caller's x has lost its mean after the call.",
        "x belongs to the caller. Compare it with a clone taken before.",
        "numerics",
        (VAR, "x -= mean\n    mean = torch.zeros_like(mean)\n    var = (x**2).mean(dim=0)"),
    ),
    in_backward(
        "view-of-strided", "numerics", "view is used on inputs that may not be contiguous",
        "A RuntimeError that says: view size is not compatible with input tensor's size and stride.",
        "view never copies. Call the function on transposed tensors and read the message to its end.",
        "numerics", (GRAD_BIAS, "grad_bias = grad_out.view(-1).view(x.shape).sum(dim=0)"),
    ),
    in_backward(
        "numpy-arrays-returned", "numerics", "The gradients are NumPy arrays, not tensors",
        "The values are right; the first tensor operation on them fails.",
        "What goes in should come out: tensors. Print the type of your results.",
        "numerics", (RETURN, "return grad_x.numpy(), grad_weight.numpy(), grad_bias.numpy()"),
    ),
)  # fmt: skip
