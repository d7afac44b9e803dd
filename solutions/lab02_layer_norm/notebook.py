# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 2: Layer Normalization
#
# **The question.** Someone builds a model that reads a picture row by row and guesses the next row. Three
# normalizations are tried, and one of them wins on the test images. Where the model is used, the next row does not
# exist yet, and much of the lead is gone. How can a layer without any memory know the future, and how would you have
# noticed?
#
# To answer this you build the layer for any number of axes, run it backwards by hand, and measure it.
#
# **When you are done you can**
#
# 1. say which numbers share a mean and a variance, for any `normalized_shape` and any input;
# 2. compare two normalizations so that the comparison could have come out otherwise;
# 3. derive the backward pass row by row, with every intermediate checked, for any number of leading axes;
# 4. write RMSNorm, and say what it leaves out, forwards and backwards;
# 5. find out which outputs of a layer may depend on which inputs.
#
# **Time:** 60 to 90 minutes. **Points:** 75, of which 69 are given by the machine and 6 by a person.
#
# **Read with it:** the chapter [Mathematical Formulation](../../book/mathematical-formulation.md) of the course book.
# If you have this notebook alone, you find the book at
# <https://github.com/normalization-course/normalization-course>.

# %% [markdown]
# ## How this lab is graded
#
# - Cells that say `# YOUR CODE HERE` are yours. Write there, and add cells of your own wherever you like.
# - A cell with one line, `check("...")`, tries your work on fixed public examples, here and offline. It says which
#   example fails first and gives you a call that you can paste and run. It gives no grade.
# - For the grade, the same questions are asked with **other numbers and shapes**, drawn anew. Leave the `check` cells as
#   they are: changing them changes no grade.
# - What is asked is written here in full. `torch.nn` is the behaviour to match wherever this text says nothing else.
#
# **What may not do the work.** PyTorch's own normalization modules and functions: `nn.LayerNorm`, `nn.RMSNorm`,
# `F.layer_norm`, `F.rms_norm`, `torch.native_layer_norm`, batch norm or group norm on a reshaped input, and their
# relatives. Do not call them in your solutions, and do not inherit from them. The grader looks at the operators that
# run and at the source; an exercise that uses one loses its points, and the report says so. Outside your solutions, in
# cells of your own, compare with them as much as you like.
#
# **What is welcome.** Any honest style: loops or none, `mean` or sums, `torch.var_mean`, `einops`, Welford's method, your
# own `autograd.Function`, a base class of your own for both layers, float32 inside for float64 inputs, other names
# inside your functions, prints. The layers may use the functions of the first steps. Mind the price: a fault in a
# function that three exercises share can cost points in all three.
#
# **All of it must hold** in float64 and in float32, for contiguous inputs and for others (transposed, sliced), and in
# the same way with and without gradients. Half precision is a stretch exercise at the end, without points.

# %% [markdown]
# ## Set-up
#
# Run the next cell first. In Colab it installs the course package by itself. On your own machine, if the import fails,
# run this once in a terminal, and restart the kernel:
#
# ```
# pip install "normalization-course @ git+https://github.com/normalization-course/normalization-course"
# ```
#
# The experiment at the end also needs `matplotlib` and `scikit-learn`; the rest does not.

# %% nbgrader={"grade": false, "grade_id": "set-up", "locked": true, "schema_version": 3, "solution": false, "task": false}
import importlib.util
import subprocess
import sys

COURSE = "normalization-course @ git+https://github.com/normalization-course/normalization-course"
if "google.colab" in sys.modules and importlib.util.find_spec("autograder") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", COURSE], check=True)

import torch
from torch import nn

try:
    from autograder.student import check
except ImportError as missing:
    raise ImportError(
        f'The course package is not installed. Run  pip install "{COURSE}"  and restart the kernel.'
    ) from missing

print("torch", torch.__version__)

# %% [markdown]
# ## 1. What the layers compute
#
# Layer norm looks at one sample at a time. `normalized_shape` says how many of the **last** axes of $x$ belong together:
# `LayerNorm(8)` on an input `(4, 6, 8)` takes each row of 8 numbers by itself, `LayerNorm((6, 8))` takes all 48 numbers
# of a sample. Let $x_1, \dots, x_m$ be the numbers of one such **set**. Then
#
# $$
# \begin{aligned}
# \mu &= \frac1m \sum_i x_i, & v &= \frac1m \sum_i (x_i - \mu)^2, \\
# \hat x_i &= \frac{x_i - \mu}{\sqrt{v + \varepsilon}}, & y_i &= \gamma_i\, \hat x_i + \beta_i .
# \end{aligned}
# $$
#
# $v$ is the **biased** variance: the sum is divided by $m$. $\varepsilon$ (`eps`) stands **under the root**. $\gamma$ (`weight`)
# and $\beta$ (`bias`) have one number for **each position in a set**, and all sets use the same ones. That is the
# difference to batch norm to keep in mind: there a set has one $\gamma$, here $\gamma$ varies inside it.
#
# RMSNorm leaves out everything about the mean:
#
# $$
# \hat x_i = \frac{x_i}{\sqrt{\frac1m \sum_j x_j^2 + \varepsilon}}, \qquad y_i = \gamma_i\, \hat x_i .
# $$
#
# Neither layer remembers anything: there are no running statistics, and evaluation mode is the same as training mode.
#
# ### Predict first (7 points)
#
# With pencil and paper, before you write a line. The layers are fresh and have their defaults.
#
# - `predicted_output`: `LayerNorm(4)` gets the row $(2, 4, 4, 10)$. What is the **last** number that comes out?
# - `predicted_rms_output`: the same for `RMSNorm(4)`.
# - `predicted_token_means`: `LayerNorm(8)` gets an input of shape `(4, 6, 8)`: 4 sentences of 6 tokens with 8 features. How
#   many means $\mu$ does it compute?
# - `predicted_sample_means`: how many does `LayerNorm((6, 8))` compute for it?
# - `predicted_weights`: how many numbers does the `weight` of `LayerNorm((6, 8))` hold?
# - `predicted_token_leak`: in one sentence of shape `(1, 6, 8)` all numbers of the **last** token are changed, to others
#   with another mean and another spread. How many of the 6 tokens of the **output** of `LayerNorm(8)` change?
# - `predicted_sample_leak`: how many change for `LayerNorm((6, 8))`?
#
# Each is one number, right to two decimals where it is not whole. The checks only note what you say. You will see below
# whether it was true, when your own layers answer.

# %% nbgrader={"grade": false, "grade_id": "solve-predictions", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_output = None
predicted_rms_output = None
predicted_token_means = None
predicted_sample_means = None
predicted_weights = None
predicted_token_leak = None
predicted_sample_leak = None
### BEGIN SOLUTION
predicted_output = 5 / 3  # mu = 5, v = (9 + 1 + 1 + 25) / 4 = 9
predicted_rms_output = 10 / 34**0.5  # (4 + 16 + 16 + 100) / 4 = 34
predicted_token_means = 4 * 6
predicted_sample_means = 4
predicted_weights = 6 * 8
predicted_token_leak = 1
predicted_sample_leak = 6  # one mean and one variance for all of them
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "ln-predict-output", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-predict-output")

# %% nbgrader={"grade": true, "grade_id": "ln-predict-rms", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-predict-rms")

# %% nbgrader={"grade": true, "grade_id": "ln-predict-token-means", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-predict-token-means")

# %% nbgrader={"grade": true, "grade_id": "ln-predict-sample-means", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-predict-sample-means")

# %% nbgrader={"grade": true, "grade_id": "ln-predict-weights", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-predict-weights")

# %% nbgrader={"grade": true, "grade_id": "ln-predict-token-leak", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-predict-token-leak")

# %% nbgrader={"grade": true, "grade_id": "ln-predict-sample-leak", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-predict-sample-leak")

# %% [markdown]
# ## 2. Three steps
#
# ### The statistics of a row (2 points)
#
# `row_statistics(x)` takes `x` of shape `(*, D)` with any number of leading axes and returns `(mean, var)`: the mean and
# the **biased** variance along the **last** axis, each of shape `(*, 1)`. The axis of length 1 stays, so that `x - mean`
# subtracts from each row its own mean. Compute the variance from the differences `x - mean`: the short cut
# $\overline{x^2} - \mu^2$ is equal on paper and useless in float32 when the mean is large.


# %% nbgrader={"grade": false, "grade_id": "solve-statistics", "locked": false, "schema_version": 3, "solution": true, "task": false}
def row_statistics(x):
    """Return mean and biased variance along the last axis: x (*, D) -> (*, 1), (*, 1)."""
    ### BEGIN SOLUTION
    mean = x.mean(dim=-1, keepdim=True)  # (*, 1)
    differences = x - mean  # (*, D)
    return mean, (differences * differences).mean(dim=-1, keepdim=True)  # (*, 1), (*, 1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ln-step-statistics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("ln-step-statistics")

# %% [markdown]
# ### Int, list, tuple, `torch.Size` (2 points)
#
# `normalized_shape` may be an int, a list, a tuple or a `torch.Size`. `as_shape(normalized_shape)` returns it as a tuple of
# ints: `8` becomes `(8,)`; `(6, 8)`, `[6, 8]` and `torch.Size([6, 8])` become `(6, 8)`. Everything after it has one case only.


# %% nbgrader={"grade": false, "grade_id": "solve-shape", "locked": false, "schema_version": 3, "solution": true, "task": false}
def as_shape(normalized_shape):
    """Return a tuple of ints: 8 -> (8,); a list, a tuple or a torch.Size -> a tuple."""
    ### BEGIN SOLUTION
    if isinstance(normalized_shape, int):
        return (normalized_shape,)
    return tuple(normalized_shape)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ln-step-shape", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("ln-step-shape")

# %% [markdown]
# ### Any number of last axes (2 points)
#
# `normalize_last(x, k, eps)` returns $\hat x$, of the shape of `x`, where a set is the **last `k` axes** together: one mean and
# one (biased) variance for each choice of the leading axes. `k` is at least 1 and at most the number of axes of `x`. `mean`
# takes a tuple of axes, and negative numbers count from the end.


# %% nbgrader={"grade": false, "grade_id": "solve-normalize", "locked": false, "schema_version": 3, "solution": true, "task": false}
def normalize_last(x, k, eps):
    """Return (x - mean) / sqrt(var + eps), statistics over the last k axes of x."""
    ### BEGIN SOLUTION
    axes = tuple(range(-k, 0))
    centred = x - x.mean(dim=axes, keepdim=True)
    var = (centred * centred).mean(dim=axes, keepdim=True)
    return centred / torch.sqrt(var + eps)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "ln-step-normalize", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("ln-step-normalize")

# %% [markdown]
# ## 3. `LayerNorm` (24 points)
#
# `LayerNorm(normalized_shape, eps=1e-5, elementwise_affine=True)` is an `nn.Module`. Its arguments may be given by
# position and by keyword.
#
# **`normalized_shape`** is an int, a list, a tuple or a `torch.Size`, with one or more sizes. Let $k$ be their number. A set
# is the last $k$ axes of the input, as in `normalize_last`.
#
# **What it keeps.**
#
# | name | kind | shape | start | when absent |
# |---|---|---|---|---|
# | `weight` | parameter | `normalized_shape` | 1 | `None` if `elementwise_affine=False` |
# | `bias` | parameter | `normalized_shape` | 0 | `None` if `elementwise_affine=False` |
#
# Nothing else stands in `state_dict()`. A `state_dict` can be loaded from and into `torch.nn.LayerNorm`, strictly, with the
# same arguments. Shapes and kinds stay as they are after a call. The layer may be moved (`.double()`), deep-copied, and
# put into an `nn.Sequential`; hooks fire, so override `forward` and not `__call__`.
#
# **Input.** Any number of leading axes, also none: `LayerNorm(8)` takes `(8,)`, `(N, 8)`, `(N, T, 8)` and more, and the same
# layer may see one and then the other. The output has the shape and the dtype of `x`. (`x` and the parameters have one
# dtype; a mixture is not asked here.) `x` itself stays as it is.
#
# **Output.** $\hat x$ with the biased variance and `eps` under the root, then `weight` and `bias`, position by position. A
# constant set gives `bias`, not NaN: that is what `eps` is for. So does a set of one value.
#
# **Modes.** Training and evaluation are the same, with and without gradients. Nothing is remembered from one call to the
# next, and a single sample is as good as many.
#
# **Errors.** `ValueError` when the trailing shape differs: the last $k$ sizes of `x` are not exactly `normalized_shape`, or `x`
# has fewer than $k$ axes. This holds whatever the mode and with or without `elementwise_affine`. Sizes of 1 would
# broadcast silently; refuse them too. (`torch.nn` raises another exception here; this text decides.)
#
# **Gradients** flow by autograd to `x`, `weight` and `bias`, through the mean and the variance as well. **Any of the three may
# be frozen**, that is, want no gradient. For a constant set the gradients are finite, since `eps` is under the root.
# Another call between a forward pass and its backward pass disturbs nothing.
#
# **Accuracy.** float32 with a mean of 100 standard deviations must still be right to float32's honest limits.


# %% nbgrader={"grade": false, "grade_id": "solve-layer-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LayerNorm(nn.Module):
    """Layer normalization over the last len(normalized_shape) axes of x."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        ### BEGIN SOLUTION
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(self.normalized_shape)) if elementwise_affine else None
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        k = len(self.normalized_shape)
        if tuple(x.shape[-k:]) != self.normalized_shape:
            raise ValueError(f"expected an input that ends in {self.normalized_shape}, got {tuple(x.shape)}")
        x_hat = normalize_last(x, k, self.eps)
        return x_hat if self.weight is None else self.weight * x_hat + self.bias
        ### END SOLUTION


# %% [markdown]
# **Constructor, names, `state_dict`** (2 points), **the output over the last axis** (4 points)

# %% nbgrader={"grade": true, "grade_id": "ln-interface", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("ln-interface")

# %% nbgrader={"grade": true, "grade_id": "ln-output", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("ln-output")

# %% [markdown]
# **`normalized_shape`: int, list, tuple, `torch.Size`; several axes** (4 points)

# %% nbgrader={"grade": true, "grade_id": "ln-shapes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("ln-shapes")

# %% [markdown]
# **Modes** (2 points), **options: `elementwise_affine`, arguments by position** (2 points), **errors** (3 points)

# %% nbgrader={"grade": true, "grade_id": "ln-modes", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("ln-modes")

# %% nbgrader={"grade": true, "grade_id": "ln-options", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("ln-options")

# %% nbgrader={"grade": true, "grade_id": "ln-errors", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("ln-errors")

# %% [markdown]
# **Gradients by autograd, anything frozen** (4 points), **numerics: float32, float64, strided inputs, `x` left alone**
# (2 points), **a large mean in float32** (1 point)

# %% nbgrader={"grade": true, "grade_id": "ln-gradients", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("ln-gradients")

# %% nbgrader={"grade": true, "grade_id": "ln-numerics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("ln-numerics")

# %% nbgrader={"grade": true, "grade_id": "ln-large-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("ln-large-mean")

# %% [markdown]
# Your predictions and your layer. If they differ, one of the two is wrong: find out which before you go on.

# %% nbgrader={"grade": false, "grade_id": "compare-predictions", "locked": true, "schema_version": 3, "solution": false, "task": false}
sentence = torch.arange(48.0).sin().reshape(1, 6, 8)
changed = sentence.clone()
changed[0, -1] = 3 * torch.arange(8.0).cos()


def tokens_that_change(layer):
    """Count the output tokens that differ between the two sentences."""
    return int(((layer(sentence) - layer(changed)).abs().amax(-1) > 1e-4).sum())


token_norm, sample_norm, many = LayerNorm(8), LayerNorm((6, 8)), torch.zeros(4, 6, 8)
rows = [
    ("last output", predicted_output, LayerNorm(4)(torch.tensor([[2.0, 4.0, 4.0, 10.0]]))[0, -1].item()),
    ("means, LayerNorm(8)", predicted_token_means, many.numel() // token_norm.weight.numel()),
    ("means, LayerNorm((6, 8))", predicted_sample_means, many.numel() // sample_norm.weight.numel()),
    ("weights, LayerNorm((6, 8))", predicted_weights, sample_norm.weight.numel()),
    ("changed, LayerNorm(8)", predicted_token_leak, tokens_that_change(token_norm)),
    ("changed, LayerNorm((6, 8))", predicted_sample_leak, tokens_that_change(sample_norm)),
]
print(f"{'':28s}predicted  computed")
for what, said, found in rows:
    print(f"{what:28s}{said!s:>9.7}  {found:8.4f}")

# %% [markdown]
# **Look at the last two lines again.** `LayerNorm((6, 8))` is not `LayerNorm(8)` done six times. All tokens of a sentence share
# its mean and variance, so each output token depends on each input token, also on those that come later. For a
# picture that is fine. For a model that must not look ahead it is a leak.

# %% [markdown]
# ## 4. Batch norm and layer norm, compared properly
#
# A printed comparison of two layers says "should be 0" and "should be 1" beside its numbers, and they are. It is worth
# something only if they could have come out otherwise.
#
# > **What the first version of this lab got wrong**
# >
# > This course grew out of an older lab, and a file with both layers and a comparison. They ran (the lab, once its
# > indentation was put back) and said "working". The next two cells show what that was worth.
# >
# > 1. **A test that half a layer passes.** It asked for the right shape and for row means below 0.1. A layer that only removes
# >    the mean passes every time. So does one with the unbiased variance, which is 5 % off at 10 features. *Compare with
# >    numbers that you trust, at weights and biases that are not 1 and 0.*
# > 2. **Evaluation mode with fresh running statistics.** The comparison called `.eval()`, gave batch norm numbers that had
# >    mean 0 and variance 1 already, and found mean 0 and variance 1. A batch norm in evaluation mode with fresh statistics
# >    hands its input on: nothing had been normalized.
# > 3. **The mean of signed means.** It averaged the channel means, so that +10 in one and -10 in another made 0. Take the
# >    largest absolute value.
# > 4. **An artefact of measuring.** It printed 1.15 as the standard deviation of a normalized batch of 4. That is
# >    $\sqrt{4/3}$: `std()` divides by $m - 1$, the layer by $m$.
# > 5. **A tuple taken, one axis used.** `LayerNorm((4, 8))` had 32 weights and normalized rows of 8.
# > 6. **"Batch norm needs more than one sample."** Its own example had one sample of 512 tokens, and 512 values per feature
# >    are plenty. What counts is the number of values in a set.
# > 7. **"Batch norm, applied to each position."** It pooled all positions: one mean per feature, over samples and tokens. So
# >    padding moves the statistics, and a later token changes an earlier output. And "sentences differ in length" is
# >    not why Transformers use layer norm; a mask would do for that. Two better reasons are this leak, and that the
# >    batch statistics of text vary strongly from batch to batch.


# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "first-version", "locked": true, "schema_version": 3, "solution": false, "task": false}
def first_version_test(layer, seed):
    """All that the first version looked at."""
    x = torch.randn(32, 10, generator=torch.Generator().manual_seed(seed))
    y = layer(x)
    return y.shape == x.shape and y.mean(dim=-1).abs().max() < 0.1


suspects = {
    "removes the mean, leaves the variance": lambda x: x - x.mean(-1, keepdim=True),
    "divides by the unbiased deviation": lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True),
    "answers 0 to everything": lambda x: 0 * x,
}
print("How often does the old test pass, in 200 draws?")
for name, layer in suspects.items():
    passed = sum(bool(first_version_test(layer, seed)) for seed in range(200))
    print(f"   {name:38s} {passed / 2:5.1f} %")


# %% nbgrader={"grade": false, "grade_id": "proper-comparison", "locked": true, "schema_version": 3, "solution": false, "task": false}
def in_place_of_tokens(batch_norm, x):
    """Call PyTorch's batch norm on (N, T, D): it wants the features on axis 1."""
    return batch_norm(x.transpose(1, 2)).transpose(1, 2)


def worst(y, axes):
    """The largest |mean| and |variance - 1| over the sets that the layer should have normalized."""
    mean, var = y.mean(axes), y.var(axes, correction=0)
    return f"{mean.abs().max().item():8.4f}  {(var - 1).abs().max().item():8.4f}"


with torch.no_grad():
    for story, scale, shift in (("x is normal already", 1, 0), ("x has mean 3 and deviation 5", 5, 3)):
        x = scale * torch.randn(4, 512, 16, generator=torch.Generator().manual_seed(0)) + shift
        print(f"{story:36s}|mean|   |var-1|   (largest of all sets)")
        for steps in (0, 1, 100):
            batch_norm = nn.BatchNorm1d(16)
            for _ in range(steps):
                in_place_of_tokens(batch_norm, x)
            y = in_place_of_tokens(batch_norm.eval(), x)
            print(f"   batch norm, eval, {steps:3d} steps before {worst(y, (0, 1))}")
        y = in_place_of_tokens(nn.BatchNorm1d(16), x)
        print(f"   batch norm, training mode           {worst(y, (0, 1))}")
        y = in_place_of_tokens(nn.BatchNorm1d(16), x[:1])
        print(f"   the same, a single sample           {worst(y, (0, 1))}")
        print(f"   your layer norm                     {worst(LayerNorm(16)(x), (2,))}")

# %% nbgrader={"grade": false, "grade_id": "three-examples", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The three usage examples of the older file, with its shapes, on an input far from normal.
EXAMPLES = {
    "1. rows (4, 128)": (4, 128),
    "2. tokens (4, 512, 128)": (4, 512, 128),
    "3. one sample (1, 512, 128)": (1, 512, 128),
}
print(f"{'':30s}|mean|   |var-1|   what the older file printed")
with torch.no_grad():
    for story, shape in EXAMPLES.items():
        x = 5 * torch.randn(shape, generator=torch.Generator().manual_seed(1)) + 3
        batch_norm, across = nn.BatchNorm1d(128), tuple(range(len(shape) - 1))
        y = batch_norm(x) if len(shape) == 2 else in_place_of_tokens(batch_norm, x)
        print(f"{story}")
        print(f"   batch norm, training mode {worst(y, across)}    std {y.std(across).mean().item():.4f}")
        y = LayerNorm(128)(x)
        print(f"   your layer norm           {worst(y, (-1,))}    std {y.std(-1).mean().item():.4f}")
print(
    f"The stds are those of the measurement: sqrt(4/3) = {(4 / 3) ** 0.5:.4f}, sqrt(128/127) = {(128 / 127) ** 0.5:.4f}."
)

# %% [markdown]
# Read the first line of each block. With fresh statistics, batch norm in evaluation mode passes or fails by what the *input*
# was. The third example of the older file said that a batch of one sample "must use evaluation mode": it need not, 512 values
# per feature are plenty. A comparison that proves something uses inputs that are far from normal, names the set, takes the worst set,
# and says which mode is asked and what has been learned before.

# %% [markdown]
# ## 5. The backward pass by hand (19 points)
#
# Now without autograd, over the **last axis**, for `x` of **any rank $\ge 2$**. Let $\ell$ be a loss, and let `grad_out` be
# $dy = \partial \ell / \partial y$, of the shape of `x`. Each row of $D$ numbers is a graph of its own:
#
# $$
# \begin{aligned}
# x &\to \mu, & (x, \mu) &\to v = \tfrac1D \textstyle\sum_i (x_i - \mu)^2, \\
# (x, \mu, v) &\to \hat x, & \hat x &\to y_i = \gamma_i \hat x_i + \beta_i .
# \end{aligned}
# $$
#
# Go through it from the end. A number that is used in several places collects a gradient from each. Only $\gamma$ and $\beta$
# are shared by all rows.
#
# ### Every intermediate (7 points)
#
# `layer_norm_steps(grad_out, x, weight, eps)` takes `grad_out` and `x` of shape `(*, D)`, `weight` of shape `(D,)`, and returns
# a dictionary with these seven keys:
#
# | key | shape | what |
# |---|---|---|
# | `"mean"` | `(*, 1)` | $\mu$ of each row |
# | `"var"` | `(*, 1)` | the biased variance $v$ of each row |
# | `"x_hat"` | `(*, D)` | $\hat x$ |
# | `"grad_x_hat"` | `(*, D)` | $\partial \ell / \partial \hat x$ |
# | `"grad_var"` | `(*, 1)` | $\partial \ell / \partial v$: $v$ stands in every $\hat x_i$ of its row, so a sum |
# | `"grad_mean"` | `(*, 1)` | $\partial \ell / \partial \mu$, **total**: directly through every $\hat x_i$, and through $v$, which is a function of $x$ and $\mu$ |
# | `"grad_x"` | `(*, D)` | $\partial \ell / \partial x$: three paths, directly through $\hat x$, through $v$, through $\mu$ |
#
# `eps` is a number without a default here. No autograd. One of the terms of `grad_mean` is zero on paper, because
# $\sum_i (x_i - \mu) = 0$. Keep it or leave it out. You need $\partial \hat x_i / \partial v = -\tfrac12 (x_i - \mu)(v + \varepsilon)^{-3/2}$.
#
# The derivation, if you are stuck: [Mathematical Formulation](../../book/mathematical-formulation.md), the sections "The
# backward pass, once for all" and "Layer norm backward".


# %% nbgrader={"grade": false, "grade_id": "solve-steps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_norm_steps(grad_out, x, weight, eps):
    """Return every intermediate of the backward pass; grad_out, x (*, D); weight (D,)."""
    ### BEGIN SOLUTION
    d = x.shape[-1]
    mean, var = row_statistics(x)  # (*, 1), (*, 1)
    centred = x - mean
    root = torch.sqrt(var + eps)  # (*, 1)
    x_hat = centred / root
    grad_x_hat = grad_out * weight
    grad_var = (grad_x_hat * centred).sum(dim=-1, keepdim=True) * (-0.5) * root**-3
    through_var = grad_var * (-2 / d) * centred.sum(dim=-1, keepdim=True)
    grad_mean = -grad_x_hat.sum(dim=-1, keepdim=True) / root + through_var
    grad_x = grad_x_hat / root + grad_var * (2 / d) * centred + grad_mean / d
    return {
        "mean": mean,
        "var": var,
        "x_hat": x_hat,
        "grad_x_hat": grad_x_hat,
        "grad_var": grad_var,
        "grad_mean": grad_mean,
        "grad_x": grad_x,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lnb-step-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-step-mean")

# %% nbgrader={"grade": true, "grade_id": "lnb-step-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-step-var")

# %% nbgrader={"grade": true, "grade_id": "lnb-step-x-hat", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-step-x-hat")

# %% nbgrader={"grade": true, "grade_id": "lnb-step-grad-x-hat", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-step-grad-x-hat")

# %% nbgrader={"grade": true, "grade_id": "lnb-step-grad-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-step-grad-var")

# %% nbgrader={"grade": true, "grade_id": "lnb-step-grad-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-step-grad-mean")

# %% nbgrader={"grade": true, "grade_id": "lnb-step-grad-x", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-step-grad-x")

# %% [markdown]
# ### In one formula (12 points)
#
# Put the three paths together on paper. Most of it cancels, and two means **over the row** remain. Mind where `weight` stands:
# it differs inside a row, so it cannot be drawn in front of a mean over the row. (In batch norm it could. Why?)
#
# `layer_norm_backward(grad_out, x, weight, eps=1e-5)` returns `grad_x`, `grad_weight` and `grad_bias`, in this order, as a
# tuple or a list:
#
# - `grad_out`, `x`: `(*, D)`, with any number of leading axes, at least one; `weight`: `(D,)`. It may be called by position
#   and by keyword;
# - `grad_x`: the shape of `x`, the gradient of the loss with respect to `x`;
# - `grad_weight`, `grad_bias`: `(D,)`, **sums over all leading axes**, not means; the dtype of all three is that of `x`;
# - **no autograd** in it: no `torch.autograd`, no `.backward()`, no call of a layer of which PyTorch takes the gradient;
# - its **arguments stay unchanged**;
# - right for rows that hardly vary and for a large `eps`, in float64 and float32, for strided inputs, for constant rows, for
#   rows of one value, and, in float32, for a mean of 100 standard deviations.
#
# You may call `layer_norm_steps`. A shorter way needs neither `grad_var` nor `grad_mean`.


# %% nbgrader={"grade": false, "grade_id": "solve-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    """Return (grad_x, grad_weight, grad_bias); grad_out, x (*, D); weight (D,)."""
    ### BEGIN SOLUTION
    mean, var = row_statistics(x)
    root = torch.sqrt(var + eps)
    x_hat = (x - mean) / root
    leading = tuple(range(x.dim() - 1))
    grad_bias = grad_out.sum(dim=leading)
    grad_weight = (grad_out * x_hat).sum(dim=leading)
    g = grad_out * weight
    kept = g - g.mean(dim=-1, keepdim=True) - x_hat * (g * x_hat).mean(dim=-1, keepdim=True)
    return kept / root, grad_weight, grad_bias
    ### END SOLUTION


# %% [markdown]
# **`grad_x` for `(N, D)`** (4 points), **`grad_weight` and `grad_bias` for `(N, D)`** (2 points), **all three for more axes**
# (3 points), **numerics and manners** (2 points), **a large mean in float32** (1 point)

# %% nbgrader={"grade": true, "grade_id": "lnb-input", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("lnb-input")

# %% nbgrader={"grade": true, "grade_id": "lnb-parameters", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("lnb-parameters")

# %% nbgrader={"grade": true, "grade_id": "lnb-ranks", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("lnb-ranks")

# %% nbgrader={"grade": true, "grade_id": "lnb-numerics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("lnb-numerics")

# %% nbgrader={"grade": true, "grade_id": "lnb-large-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("lnb-large-mean")

# %% [markdown]
# ## 6. `RMSNorm` (13 points)
#
# `RMSNorm(normalized_shape, eps=None, elementwise_affine=True)` is an `nn.Module`, with arguments by position and by keyword.
# It computes the second formula of section 1. There is no mean to subtract and no `bias`.
#
# - `normalized_shape` is an int, a list, a tuple or a `torch.Size`; a set is the last axes, as in `LayerNorm`. Any number of
#   leading axes. What happens when the trailing shape differs is not asked here.
# - It keeps one parameter, `weight`, of shape `normalized_shape`, starting at 1 (`None` if `elementwise_affine=False`). Nothing
#   else stands in `state_dict()`; one from `torch.nn.RMSNorm` can be loaded strictly, and the other way round. Hooks
#   fire.
# - **`eps=None` means `torch.finfo(x.dtype).eps`**, for the dtype of the `x` of **this call**: $1.2 \cdot 10^{-7}$ in float32 and
#   $2.2 \cdot 10^{-16}$ in float64. A number is used as it is, in every dtype, and `0.0` is a number.
# - **The output has the dtype of `x`**, also where `weight` has another one: `x` in float32 and `weight` in float64 give
#   float32, and the other way round float64.
# - `eps` stands under the root, so that a set of zeros gives zeros, and finite gradients.
# - `x` stays as it is. Training and evaluation are the same. Gradients flow to `x` and `weight`, either may be frozen. float64
#   and float32, strided inputs, as before.
#
# Two things are easy to get wrong here and cost nobody a test loss for a long time. `x.float()` returns `x` **itself** when `x`
# is in float32 already; what is then done in place is done to the caller's `x`. And layers of some models keep their weight
# less 1, or add `eps` elsewhere: a saved `weight` means what it means to `torch.nn` here.


# %% nbgrader={"grade": false, "grade_id": "solve-rms-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class RMSNorm(nn.Module):
    """Root mean square normalization over the last len(normalized_shape) axes of x."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        ### BEGIN SOLUTION
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        axes = tuple(range(-len(self.normalized_shape), 0))
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        y = x * torch.rsqrt((x * x).mean(dim=axes, keepdim=True) + eps)
        return y if self.weight is None else (self.weight * y).to(x.dtype)
        ### END SOLUTION


# %% [markdown]
# **Constructor, `weight`, `state_dict`** (2 points), **the output** (2 points), **several axes** (1 point), **`eps`** (2 points),
# **gradients by autograd** (2 points), **dtype, strided inputs, `x` left alone** (2 points)

# %% nbgrader={"grade": true, "grade_id": "rms-interface", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("rms-interface")

# %% nbgrader={"grade": true, "grade_id": "rms-output", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("rms-output")

# %% nbgrader={"grade": true, "grade_id": "rms-shapes", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("rms-shapes")

# %% nbgrader={"grade": true, "grade_id": "rms-eps", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("rms-eps")

# %% nbgrader={"grade": true, "grade_id": "rms-gradients", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("rms-gradients")

# %% nbgrader={"grade": true, "grade_id": "rms-numerics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("rms-numerics")

# %% [markdown]
# Your prediction and your layer:

# %% nbgrader={"grade": false, "grade_id": "compare-rms", "locked": true, "schema_version": 3, "solution": false, "task": false}
found = RMSNorm(4)(torch.tensor([[2.0, 4.0, 4.0, 10.0]]))[0, -1].item()
print(f"last output of RMSNorm: predicted {predicted_rms_output!s:.7}, computed {found:.4f}")

# %% [markdown]
# ### Its backward pass (2 points)
#
# Without the mean, one path is left beside the direct one. `rms_norm_grad_x(grad_out, x, weight, eps)` returns $\partial \ell /
# \partial x$ for RMSNorm over the **last axis**: `grad_out`, `x` and the result `(*, D)`, at least two axes; `weight` `(D,)`; `eps` a
# number. No autograd. Look at your formula for layer norm: which of its terms goes, and why does the gradient of a row no
# longer add up to 0?


# %% nbgrader={"grade": false, "grade_id": "solve-rms-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rms_norm_grad_x(grad_out, x, weight, eps):
    """Return the gradient with respect to x; grad_out, x (*, D); weight (D,)."""
    ### BEGIN SOLUTION
    root = torch.sqrt((x * x).mean(dim=-1, keepdim=True) + eps)  # (*, 1)
    x_hat = x / root
    g = grad_out * weight
    return (g - x_hat * (g * x_hat).mean(dim=-1, keepdim=True)) / root
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "rms-step-grad-x", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("rms-step-grad-x")

# %% [markdown]
# ## 7. The experiment: a layer that knows the future
#
# A digit of scikit-learn has 8 rows of 8 pixels. A small model reads the rows from the top and predicts, after each, the next
# one: a language model in miniature. Its layers are causal: what it says after row $t$ is made of rows $1$ to $t$, by a lower
# triangular matrix. In front of them stands a normalization:
#
# - **none** (the control);
# - your **`LayerNorm(8)`**: each row by itself;
# - your **`LayerNorm((7, 8))`**: the seven rows that are read share a mean and a variance;
# - **batch norm** over samples and rows, 8 features (PyTorch's, with the axes put right).
#
# The questions, made precise **before** anything runs:
#
# 1. Which of the four has the smallest squared error on the test images, at batches of 2, 8 and 32 images?
# 2. For each prediction, the rows that the model is not supposed to know are replaced by those of **another image**. An honest
#    model cannot care. **How much larger is the error then?**
#
# What is held fixed: 200 updates for every batch size, one learning rate, the same weights at the start and the same batches for
# all four. A run with batches of 2 sees 400 images, one with batches of 32 sees 6400; so compare the four at one
# batch size, and do not blame a normalization for what the control shows as well.
#
# Say now what you expect in the second column for each of the four: exactly 0, or more? The data are ready; all of it takes 10 to
# 30 seconds.

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-models", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

BATCH_SIZES, UPDATES, RATE, SEEDS, BUDGET_S = (2, 8, 32), 200, 0.01, 5, 40
KINDS = ("none", "LayerNorm(8)", "LayerNorm((7, 8))", "batch norm")

pixels, _ = load_digits(return_X_y=True)
order = torch.randperm(len(pixels), generator=torch.Generator().manual_seed(0))
images = torch.tensor(pixels, dtype=torch.float32).reshape(-1, 8, 8)[order] / 16  # from 0 to 1
train_images, test_images = images[:1347], images[1347:]


class BatchNormOfRows(nn.BatchNorm1d):
    """PyTorch's batch norm for (N, T, D); it wants the features on axis 1."""

    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class NextRow(nn.Module):
    """Predict row t + 1 from rows 1 to t, for t = 1 to 7; only the normalization may see more."""

    def __init__(self, kind, width=64):
        super().__init__()
        self.enter, self.leave = nn.Linear(8, width), nn.Linear(width, 8)
        self.mix = nn.Parameter(torch.eye(7) + 0.1 * torch.randn(7, 7))
        self.position = nn.Parameter(torch.zeros(7, width))
        self.norm = {
            "none": nn.Identity,
            "LayerNorm(8)": lambda: LayerNorm(8),
            "LayerNorm((7, 8))": lambda: LayerNorm((7, 8)),
            "batch norm": lambda: BatchNormOfRows(8),
        }[kind]()  # last, so that all kinds start from the same weights

    def forward(self, x):
        rows = self.enter(self.norm(x))  # (N, 7, width)
        return self.leave(torch.relu(torch.tril(self.mix) @ rows + self.position))  # (N, 7, 8)


def train(model, batch_size, seed):
    """Do UPDATES steps of Adam; the same seed draws the same batches."""
    draws = torch.Generator().manual_seed(1000 + seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(UPDATES):
        x = train_images[torch.randint(len(train_images), (batch_size,), generator=draws)]
        optimizer.zero_grad()
        (model(x[:, :-1]) - x[:, 1:]).square().mean().backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def errors(model):
    """Return the mean squared error, in thousandths: with the true future at hand, with another image's."""
    x, other = test_images, test_images.roll(1, 0)
    present = (model(x[:, :-1]) - x[:, 1:]).square().mean().item()
    replaced = 0.0
    for t in range(7):  # what is predicted after row t, counted from 0
        mixed = torch.cat([x[:, : t + 1], other[:, t + 1 : 7]], 1)
        replaced += (model(mixed)[:, t] - x[:, t + 1]).square().mean().item() / 7
    return 1000 * present, 1000 * replaced


results, complete = {(size, kind): [] for size in BATCH_SIZES for kind in KINDS}, 0
started = time.thread_time()
for seed in range(SEEDS):
    this_seed = {}
    for size, kind in results:
        if time.thread_time() - started > BUDGET_S:
            break
        torch.manual_seed(seed)
        this_seed[size, kind] = errors(train(NextRow(kind), size, seed))
    if len(this_seed) < len(results):
        print(f"Stopped after {BUDGET_S} s of CPU time: {seed} of {SEEDS} seeds are complete; only those count.")
        break
    for key, pair in this_seed.items():
        results[key].append(pair)
complete = len(results[2, "none"])
if not complete:
    raise RuntimeError(f"No seed was complete in {BUDGET_S} s of CPU time; does your layer loop over rows?")

table = {key: torch.tensor(pairs) for key, pairs in results.items()}  # (seeds, 2)
print(f"Squared error x 1000 on test images, mean +- standard deviation of {complete} seeds")
print("batch size  normalization       true future     another future    difference")
for (size, kind), pairs in table.items():
    columns = [pairs[:, 0], pairs[:, 1], pairs[:, 1] - pairs[:, 0]]
    cells = [f"{round(c.mean().item(), 2) + 0.0:6.2f} +- {c.std(correction=0).item():5.2f}" for c in columns]
    print(f"{size:10d}  {kind:17s}  " + "   ".join(cells))
print(f"({time.thread_time() - started:.0f} s of CPU time)")

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
if not complete:
    raise RuntimeError("There is no table yet: the cell above must run to its end first.")

figure, panels = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
styles = {"none": ("#707070", "^"), "LayerNorm(8)": ("#1f5fa8", "s"), "LayerNorm((7, 8))": ("#c1440e", "o")}
styles["batch norm"] = ("#2e7d32", "D")
for shift, (kind, (colour, marker)) in enumerate(styles.items()):
    place = [size * 1.06 ** (shift - 1.5) for size in BATCH_SIZES]  # side by side: no bar hides another
    pairs = [table[size, kind] for size in BATCH_SIZES]
    for panel, values in zip(panels, ([p[:, 0] for p in pairs], [p[:, 1] - p[:, 0] for p in pairs]), strict=True):
        centre, bar = [v.mean().item() for v in values], [v.std(correction=0).item() for v in values]
        panel.errorbar(place, centre, yerr=bar, color=colour, marker=marker, capsize=3, label=kind)
panels[0].set(ylabel="squared error x 1000", title="Error with the true future at hand", ylim=(35, 65))
panels[1].set(ylabel="squared error x 1000", title="Added when the future is another image's")
panels[1].axhline(0, color="black", linewidth=0.5)
for panel in panels:
    panel.set_xscale("log", base=2)
    panel.set_xticks(BATCH_SIZES, [str(size) for size in BATCH_SIZES])
    panel.set_xlabel("batch size in training")
panels[0].legend(frameon=False)
plt.show()

# %% [markdown]
# **Read it with care.** The bars are standard deviations over seeds of one small model on one small data set. The learning rate
# is the same for all and tuned for none, and 200 updates are few. In the left panel batch norm at batch size 2 may lie above
# the frame. What your own run shows is the evidence; if it disagrees with what you read elsewhere, write what you see.

# %% [markdown]
# ## 8. A written answer (6 points, graded by a person)
#
# In about 150 words, with numbers from **your** table:
#
# **(a)** At batches of 32, which normalization looks best while the true future is at hand, and what is left of its lead, over
# the control and over `LayerNorm(8)`, when the future is another image's? Are these differences larger than the bars?
# **(b)** Explain the last column from the formulas: what do the first rows of the output of `LayerNorm((7, 8))` know about the
# last row of the input, and why is the difference exactly 0 for `LayerNorm(8)` and for batch norm in evaluation mode?
# What about batch norm in training mode?
# **(c)** A colleague wants to generate digits row by row, one image at a time, and can train with batches of 2 only. Which of the
# four would you propose, which would you rule out, and which single check would have shown the leak before any training?
#
# How it is graded, two points for each part:
#
# | | 2 points | 1 point | 0 points |
# |---|---|---|---|
# | (a) | names it, gives errors of both columns for it and for a rival, and compares their distance with the bars | numbers without the bars, or only one column | no numbers of the run |
# | (b) | the shared mean and variance carry the later rows into every output row; one set per row, or stored statistics, carry nothing; in training mode batch norm shares too | the first of these and one other | less |
# | (c) | a sound proposal with the batch size and the leak as reasons, and a check that changes later rows and looks at earlier outputs | one of the two | neither |

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-answer", "locked": false, "points": 6, "schema_version": 3, "solution": true, "task": false}
# (a) At batches of 32, LayerNorm((7, 8)) looks best: 41.6 +- 0.5 against 43.8 +- 0.3 for the control and 44.3 +- 0.3 for
# LayerNorm(8) (my run, 5 seeds). With another image's future it has 42.6 +- 0.2: of its lead of 2.2 over the control 1.1 is
# left, and of 2.7 over LayerNorm(8) 1.7. Both leads are larger than the bars, before and after; half of the first one was
# borrowed from the future. At batches of 2 the difference (-0.4 +- 0.4) is no larger than its bar.
#
# (b) LayerNorm((7, 8)) has one mu and one v for all seven rows. The 56 numbers of x_hat add up to 0, so the rows that were
# read tell, with their sum, the sum of those that were not; training learned to use that. LayerNorm(8) has a mu and a v for
# each row, and batch norm in evaluation has stored ones: no later row enters an earlier output, so the difference is 0 to
# the last digit. In training mode batch norm pools all rows of all images, so later rows do enter there.
#
# (c) LayerNorm(8), or none, which is as good here: neither leaks and neither looks at the batch. I rule out
# LayerNorm((7, 8)), since the later rows do not exist when it generates, and batch norm, which has 84 +- 36 at batches of
# 2. The check: change the last row of an input and see which rows of the layer's output change. Only the last one may.

# %% [markdown]
# ## 9. Stretch (no points)
#
# **Half precision.** Let `x = (300 * torch.randn(64, 16)).half()`. What is the largest number that float16 can hold, and what is 300
# squared? Compare your `LayerNorm(16).half()` with the same in float64. Then make both layers accept float16 and bfloat16:
# statistics in float32, the output in the dtype of `x`.
#
# **Which eps?** In float16 `torch.finfo(x.dtype).eps` is 0.00098, in bfloat16 0.0078; some versions of `nn.RMSNorm` take the eps of
# float32 there, since they compute in float32. For which rows does it matter? Find the size of `x` from which on the two
# outputs agree to the last bit of float16. And `weight`: if it stays in float32 while `x` is float16, should it be multiplied
# before the result is rounded to float16, or after? Measure both against float64.
#
# **One float32 number too many.** Take `x = 1e6 + torch.zeros(2, 3)` plus a little noise, in float32, and `LayerNorm(3)`. How far is
# your output from that in float64, and how far is PyTorch's? Subtract the mean **twice** and look again. Why does it help?

# %%
# Your own trials go here.
