"""What may cost points in lab 2, each with a pattern for the sentence of the task text that says so.

`autograder labs lint` demands that every pattern fits: a check cannot ask for more than was said.
"""

from __future__ import annotations

BEHAVIOURS: dict[str, str] = {
    # what holds for all exercises
    "no built-in": r"Do not call them in your solutions, and do not inherit from them",
    "no other layer in disguise": r"batch norm or group norm on a reshaped input",
    "who looks": r"looks at the operators that\s+run and at the source",
    "what is accepted": r"`torch\.var_mean`, `einops`, Welford's method, your\s+own `autograd\.Function`",
    "float32 inside": r"float32 inside for float64 inputs",
    "dtypes and strides": r"in float64 and in float32, for contiguous inputs and for others \(transposed, sliced\)",
    "half precision": r"Half precision is a stretch exercise at the end, without points",
    "practice is not the grade": r"other numbers and shapes\*\*, drawn anew",
    "torch is the behaviour to match": r"`torch\.nn` is the behaviour to match wherever this text says nothing else",
    # predictions and steps
    "how exact a prediction": r"right to two decimals",
    "the row": r"gets the row \$\(2, 4, 4, 10\)\$",
    "what is counted": r"How many of the 6 tokens of the \*\*output\*\* of `LayerNorm\(8\)` change",
    "row_statistics": r"`row_statistics\(x\)` takes `x` of shape `\(\*, D\)`.*each of shape `\(\*, 1\)`",
    "as_shape": r"`as_shape\(normalized_shape\)` returns it as a tuple of\s+ints",
    "normalize_last": r"`normalize_last\(x, k, eps\)` returns .*the \*\*last `k` axes\*\* together",
    # LayerNorm
    "the signature": r"`LayerNorm\(normalized_shape, eps=1e-5, elementwise_affine=True\)` is an `nn\.Module`",
    "position and keyword": r"Its arguments may be given by\s+position and by keyword",
    "kinds of normalized_shape": r"is an int, a list, a tuple or a `torch\.Size`, with one or more sizes",
    "the set": r"A set\s+is the last \$k\$ axes of the input",
    "weight": r"`weight` \| parameter \| `normalized_shape` \| 1 \| `None` if `elementwise_affine=False`",
    "bias": r"`bias` \| parameter \| `normalized_shape` \| 0 \| `None` if `elementwise_affine=False`",
    "nothing else is kept": r"Nothing else stands in `state_dict\(\)`",
    "state dict, both ways, strictly": r"loaded from and into `torch\.nn\.LayerNorm`, strictly",
    "shapes stay": r"Shapes and kinds stay as they are after a call",
    "hooks, copies, containers": r"\(`\.double\(\)`\), deep-copied, and\s+put into an `nn\.Sequential`; hooks fire",
    "leading axes, also none": r"Any number of leading axes, also none",
    "one layer, several shapes": r"the same\s+layer may see one and then the other",
    "output shape and dtype": r"The output has the shape and the dtype of `x`",
    "x stays": r"`x` itself stays as it is",
    "biased, eps under the root": r"with the biased variance and `eps` under the root, then `weight` and `bias`",
    "a constant set, one value": r"constant set gives `bias`, not NaN.*So does a set of one value",
    "modes": r"Training and evaluation are the same, with and without gradients",
    "nothing remembered": r"Nothing is remembered from one call to the\s+next, and a single sample is as good as many",
    "errors": r"`ValueError` when the trailing shape differs",
    "too few axes": r"or `x`\s+has fewer than \$k\$ axes",
    "errors always": r"whatever the mode and with or without `elementwise_affine`",
    "sizes of 1": r"Sizes of 1 would\s+broadcast silently; refuse them too",
    "gradients": r"flow by autograd to `x`, `weight` and `bias`, through the mean and the variance",
    "frozen": r"\*\*Any of the three may\s+be frozen\*\*",
    "finite gradients": r"For a constant set the gradients are finite",
    "a call in between": r"Another call between a forward pass and its backward pass disturbs nothing",
    "accuracy": r"float32 with a mean of 100 standard deviations must still be right",
    # the backward pass
    "steps": r"`layer_norm_steps\(grad_out, x, weight, eps\)` takes",
    "the keys": r'"mean".*"var".*"x_hat".*"grad_x_hat".*"grad_var".*"grad_mean".*"grad_x"',
    "total derivative of the mean": r"\*\*total\*\*: directly through every .* and through \$v\$, which is a function",
    "steps without autograd": r"`eps` is a number without a default here\. No autograd",
    "backward's signature": r"`layer_norm_backward\(grad_out, x, weight, eps=1e-5\)` returns"
    r" `grad_x`, `grad_weight` and `grad_bias`",
    "any rank": r"any number of leading axes, at least one; `weight`: `\(D,\)`",
    "named arguments": r"It may be called by position\s+and by keyword",
    "sums": r"\*\*sums over all leading axes\*\*, not means; the dtype of all three is that of `x`",
    "no autograd": r"\*\*no autograd\*\* in it",
    "arguments unchanged": r"its \*\*arguments stay unchanged\*\*",
    "backward's numerics": r"rows that hardly vary and for a large `eps`, in float64 and float32,"
    r" for strided inputs, for constant rows",
    "backward's large mean": r"in float32, for a mean of 100 standard deviations",
    # RMSNorm
    "RMSNorm's signature": r"`RMSNorm\(normalized_shape, eps=None, elementwise_affine=True\)` is an `nn\.Module`",
    "no mean, no bias": r"There is no mean to subtract and no `bias`",
    "its shapes": r"a set is the last axes, as in `LayerNorm`\. Any number of\s+leading axes",
    "its errors are not asked": r"when the trailing shape differs is not asked here",
    "its weight": r"one parameter, `weight`, of shape `normalized_shape`, starting at 1",
    "its state dict": r"one from `torch\.nn\.RMSNorm` can be loaded strictly",
    "eps=None": r"\*\*`eps=None` means `torch\.finfo\(x\.dtype\)\.eps`\*\*, for the dtype of the `x` of \*\*this call\*\*",
    "eps as given": r"A number is used as it is, in every dtype, and `0\.0` is a number",
    "its dtype": r"\*\*The output has the dtype of `x`\*\*, also where `weight` has another one",
    "zeros": r"a set of zeros gives zeros, and finite gradients",
    "the rest": r"`x` stays as it is\. Training and evaluation are the same\."
    r" Gradients flow to `x` and `weight`, either may be frozen",
    "rms_norm_grad_x": r"`rms_norm_grad_x\(grad_out, x, weight, eps\)` returns",
    "the rubric": r"\| 2 points \| 1 point \| 0 points \|",
}
