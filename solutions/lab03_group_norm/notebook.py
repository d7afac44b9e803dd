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
# # Lab 3: Group Normalization
#
# **The question.** Batch normalization makes a prediction depend on the other images in its batch, and it fails when the
# batch is small. Group normalization promises to end both: it looks at one sample at a time. Does it keep the promise,
# what does it cost, and when was the small batch not the trouble in the first place?
#
# You take a page apart that compares five norms, build the layer that it is about, run it backwards by hand, and measure.
#
# **When you are done you can**
#
# 1. say for batch, layer, token and group norm which numbers share a mean, and how many means there are;
# 2. write group norm for inputs of any rank, and instance norm as its special case;
# 3. derive the backward pass where `weight` differs inside the set that is averaged, with every intermediate checked;
# 4. tell from a figure when a small batch hurts batch norm, and when it does not.
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
# - For the grade, the same questions are asked with **other numbers and shapes**, drawn anew. A solution that fits only
#   the public examples gets nothing. Leave the `check` cells as they are: changing them changes no grade.
# - What is asked is written here in full. `torch.nn` is the behaviour to match wherever this text says nothing else.
#
# **What may not do the work.** PyTorch's own normalization modules and functions: `nn.GroupNorm`, `nn.InstanceNorm2d`,
# `nn.LayerNorm`, `F.group_norm`, `F.batch_norm`, `torch.native_group_norm` and their relatives. Do not call them in
# your solutions, and do not inherit from them. The grader looks at the operators that run and at the source; an
# exercise that uses one loses its points, and the report says so. Outside your solutions, in cells of your own, compare
# with them as much as you like.
#
# **What is welcome.** Any honest style: loops or none, `mean` or sums, `torch.var_mean`, `einops`, chunks, Welford's
# method, your own `autograd.Function`, float32 inside for float64 inputs, other names inside your functions, prints.
# `InstanceNorm2d` may use `GroupNorm`, and both may use the functions of the five steps. Mind the price: a fault in a
# function that three exercises share can cost points in all three.
#
# **All of it must hold** in float64 and in float32, for contiguous inputs and for others (transposed, sliced,
# "channels last" memory). Half precision is a stretch exercise at the end, without points.

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
# ## 1. One formula, four sets
#
# Every norm in this lab takes a set of $m$ numbers, removes their mean and divides by their spread:
#
# $$
# \mu = \frac1m \sum_i x_i, \qquad v = \frac1m \sum_i (x_i - \mu)^2, \qquad
# \hat x_i = \frac{x_i - \mu}{\sqrt{v + \varepsilon}} .
# $$
#
# $v$ is the **biased** variance and $\varepsilon$ stands **under the root**. The norms differ in one thing only: **which
# numbers form a set.** Take a batch of $N$ sequences, each with $L$ positions and $C$ channels, of shape `(N, L, C)`:
#
# | kind | what shares a mean |
# |---|---|
# | `"batch"` | one channel, over all samples and all positions |
# | `"layer"` | one sample: all its positions and channels. This is layer norm over `(L, C)` |
# | `"token"` | one position of one sample: its $C$ channels. This is layer norm as transformers use it |
# | `"group"` | one sample and one of $G$ groups of **neighbouring** channels, $C/G$ channels in each, over all positions |
#
# ### Predict first (7 points)
#
# With pencil and paper, before you run anything.
#
# **How many means** does each norm take of an input with $N = 8$, $L = 16$, $C = 32$, and $G = 4$ groups? One number
# each: `predicted_means_batch`, `predicted_means_layer`, `predicted_means_token`, `predicted_means_group`.
#
# **Few values.** Group norm also takes an input `(N, C)`, rows of a table. Three fresh layers in their default state
# (`eps=1e-5`, no scale and no shift yet):
#
# - `predicted_one_group`: the row $(1, 3, 5, 7)$ goes through a group norm with **one** group of four channels. What is
#   the **first** number that comes out?
# - `predicted_pairs`: the rows $(1, 3, 5, 105)$ and $(2, 4, 6, 8)$ go through one with **two** groups. What is the
#   **last** number of the first row (the one for 105)?
# - `predicted_singles`: the same two rows go through one with **four** groups. What is the last number of the first row?
#
# Each is one number, right to two decimals. The checks only note what you say. You will see below whether it was true.

# %% nbgrader={"grade": false, "grade_id": "solve-predictions", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_means_batch = None
predicted_means_layer = None
predicted_means_token = None
predicted_means_group = None
predicted_one_group = None
predicted_pairs = None
predicted_singles = None
### BEGIN SOLUTION
predicted_means_batch = 32  # one per channel
predicted_means_layer = 8  # one per sample
predicted_means_token = 8 * 16  # one per position of a sample
predicted_means_group = 8 * 4  # one per group of a sample
predicted_one_group = -3 / 5**0.5  # mu = 4, v = (9 + 1 + 1 + 9) / 4 = 5
predicted_pairs = 1.0  # mu = 55, and 105 lies one standard deviation (50) above it, like any larger one of two
predicted_singles = 0.0  # a number minus itself
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "gn-predict-batch", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-predict-batch")

# %% nbgrader={"grade": true, "grade_id": "gn-predict-layer", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-predict-layer")

# %% nbgrader={"grade": true, "grade_id": "gn-predict-token", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-predict-token")

# %% nbgrader={"grade": true, "grade_id": "gn-predict-group", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-predict-group")

# %% nbgrader={"grade": true, "grade_id": "gn-predict-one-group", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-predict-one-group")

# %% nbgrader={"grade": true, "grade_id": "gn-predict-pairs", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-predict-pairs")

# %% nbgrader={"grade": true, "grade_id": "gn-predict-singles", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-predict-singles")

# %% [markdown]
# ### The page that this lab grew out of
#
# It was a short page on group normalization. It sent one input through five layers of PyTorch, without scale and shift,
# and printed for each the shape of its statistics, and how far the sets of the output are from mean 0 and variance 1.
# Then it compared layer norm over `(L, C)` with group norm of one group, and training mode with evaluation mode. Below
# it stood an expected output of twelve lines, with the remark that nobody had run the code yet.
#
# The next cell asks PyTorch the same twelve questions, with code of our own and the page's random numbers, and compares
# its answers line by line with what the page expected.

# %% nbgrader={"grade": false, "grade_id": "page", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(23)  # the page's
N, L, C, G = 8, 16, 32, 4
x = torch.randn(N, L, C)

# Each layer; whether it wants (N, C, L); into how many groups the channels are cut before the axes are averaged.
five = {
    "BN": (nn.BatchNorm1d(C, affine=False), True, None, (0, 1)),
    "LN (L, C)": (nn.LayerNorm((L, C), elementwise_affine=False), False, None, (1, 2)),
    "LN (token)": (nn.LayerNorm(C, elementwise_affine=False), False, None, (2,)),
    "GN (1 group)": (nn.GroupNorm(1, C, affine=False), True, None, (1, 2)),
    "GN (4 groups)": (nn.GroupNorm(G, C, affine=False), True, G, (1, 3)),
}


def through(layer, channels_first):
    """The output for x, as (N, L, C) whatever the layer wants."""
    return layer(x.transpose(1, 2)).transpose(1, 2) if channels_first else layer(x)


lines, fine, means, trained = [], [], {}, {}
for name, (layer, channels_first, groups, axes) in five.items():
    trained[name] = y = through(layer.train(), channels_first)
    sets = y if groups is None else y.unflatten(2, (groups, -1))  # (N, L, C) or (N, L, G, C / G)
    var, mean = torch.var_mean(sets, dim=axes, correction=0)
    off_mean, off_var = mean.abs().max().item(), (var - 1).abs().max().item()
    means[name] = mean.numel()
    lines.append(f"{name}: statistics {tuple(mean.shape)}, |mean| {off_mean:.4f}, |var - 1| {off_var:.4f}")
    fine.append(f"{name:14s} |mean| {off_mean:.1e}, |var - 1| {off_var:.2e}")
lines.append(
    f"LN (L, C) equals GN (1 group): {torch.allclose(trained['LN (L, C)'], trained['GN (1 group)'], atol=1e-6)}"
)
lines.append(f"no layer has weight or bias: {all(f[0].weight is None and f[0].bias is None for f in five.values())}")
for name, (layer, channels_first, _, _) in five.items():
    same = torch.allclose(trained[name], through(layer.eval(), channels_first), atol=1e-6)
    lines.append(f"{name}: training equals evaluation: {same}")

expected = [
    "BN: statistics (32,), |mean| 0.0000, |var - 1| 0.0000",
    "LN (L, C): statistics (8,), |mean| 0.0000, |var - 1| 0.0000",
    "LN (token): statistics (8, 16), |mean| 0.0000, |var - 1| 0.0000",
    "GN (1 group): statistics (8,), |mean| 0.0000, |var - 1| 0.0000",
    "GN (4 groups): statistics (8, 4), |mean| 0.0000, |var - 1| 0.0000",
    "LN (L, C) equals GN (1 group): True",
    "no layer has weight or bias: True",
    "BN: training equals evaluation: False",
    "LN (L, C): training equals evaluation: True",
    "LN (token): training equals evaluation: True",
    "GN (1 group): training equals evaluation: True",
    "GN (4 groups): training equals evaluation: True",
]
for line, wanted in zip(lines, expected, strict=True):
    print("as expected " if line == wanted else "OTHERWISE   ", line)
print(f"{sum(line == wanted for line, wanted in zip(lines, expected, strict=True))} of {len(expected)} lines agree")

print("\nYour predictions and the number of means above")
answers = (predicted_means_batch, predicted_means_layer, predicted_means_token, predicted_means_group)
for guess, name in zip(answers, ("BN", "LN (L, C)", "LN (token)", "GN (4 groups)"), strict=True):
    print(f"{name:14s} predicted {guess!s:>7.7}  computed {means[name]:4d}")

# %% [markdown]
# **The page was right, line for line.** No number of it had to be corrected. What is wrong with it is what it leaves
# out; you come back to that when you have a layer of your own.
#
# Note one trap already: batch norm and group norm take 32 means each here, and not one of these means is the same. The
# count says little, the **shape** of the statistics says more.
#
# ### The table of shapes (4 points)
#
# `statistics_shape(kind, n, l, c, num_groups=None)` returns the shape of the statistics for an input `(N, L, C)`, as a
# **tuple** of integers. `kind` is one of the four words above:
#
# | kind | returns |
# |---|---|
# | `"batch"` | `(C,)` |
# | `"layer"` | `(N,)` |
# | `"token"` | `(N, L)` |
# | `"group"` | `(N, G)`, where $G$ is `num_groups` |
#
# - It may be called by position and by keyword.
# - `num_groups` matters for `"group"` only; the other kinds need none and ignore it.
# - A `kind` that is none of the four words **raises an error**. `ValueError` is the one to choose; any kind of error is
#   accepted, as long as it is raised.
# - For `"group"` with `num_groups` missing, or with a $C$ that it does not divide, `ValueError` is a good answer too. That is
#   good manners and not graded.


# %% nbgrader={"grade": false, "grade_id": "solve-shape", "locked": false, "schema_version": 3, "solution": true, "task": false}
def statistics_shape(kind, n, l, c, num_groups=None):
    """Return the shape of the statistics of an input (N, L, C), a tuple."""
    ### BEGIN SOLUTION
    if kind == "group":
        if num_groups is None or c % num_groups != 0:
            raise ValueError(f"num_groups must divide {c}, got {num_groups}")
        return (n, num_groups)
    shapes = {"batch": (c,), "layer": (n,), "token": (n, l)}
    if kind not in shapes:
        raise ValueError(f"kind must be batch, layer, token or group, got {kind!r}")
    return shapes[kind]
    ### END SOLUTION


# %% [markdown]
# **The four kinds** (3 points), **an unknown kind** (1 point)

# %% nbgrader={"grade": true, "grade_id": "shape-values", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("shape-values")

# %% nbgrader={"grade": true, "grade_id": "shape-errors", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("shape-errors")

# %% [markdown]
# ## 2. Five steps to the layer
#
# From here on the channels stand on **axis 1**, as everywhere in PyTorch: `(N, C)`, `(N, C, L)`, `(N, C, H, W)`, in
# short `(N, C, *)`, where the star stands for any number of axes, also for none. Call all of them together *space*.
#
# ### Cut the channels into groups (2 points)
#
# `to_groups(x, num_groups)` takes `x` of shape `(N, C, *)` and returns a tensor `(N, G, m)`: row $g$ of a sample holds all
# $m$ values of its group $g$. Groups are **contiguous**: channels $0, \dots, C/G - 1$ are group 0, the next $C/G$ are
# group 1, and so on. So $m$ is $C/G$ times the number of places in space. Inside a row the channels follow one another,
# each with its places in their usual order. (You may count on $C$ being divisible by $G$ in these steps.)
#
# A test that costs one line: fill `x` with its channel numbers and look which of them stand together.


# %% nbgrader={"grade": false, "grade_id": "solve-to-groups", "locked": false, "schema_version": 3, "solution": true, "task": false}
def to_groups(x, num_groups):
    """Return x (N, C, *) as (N, G, m), neighbouring channels together."""
    ### BEGIN SOLUTION
    return x.reshape(x.shape[0], num_groups, -1)  # (N, G, m)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gn-step-to-groups", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("gn-step-to-groups")

# %% [markdown]
# ### Statistics (1 point)
#
# `group_statistics(grouped)` takes `(N, G, m)` and returns `(mean, var)`: the mean and the **biased** variance of each
# group, each of shape `(N, G)`. Compute the variance from the differences. The short cut $\overline{x^2} - \mu^2$ is
# equal on paper and useless in float32 when the mean is large: later checks use a mean of 100 standard deviations.


# %% nbgrader={"grade": false, "grade_id": "solve-statistics", "locked": false, "schema_version": 3, "solution": true, "task": false}
def group_statistics(grouped):
    """Return the mean and the biased variance of each group: (N, G, m) -> (N, G), (N, G)."""
    ### BEGIN SOLUTION
    mean = grouped.mean(dim=2)  # (N, G)
    differences = grouped - mean.unsqueeze(2)  # (N, G, m)
    return mean, (differences * differences).mean(dim=2)  # (N, G), (N, G)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gn-step-statistics", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-step-statistics")

# %% [markdown]
# ### Centre and scale (1 point)
#
# `normalize_groups(grouped, mean, var, eps)` returns $\hat x$ of shape `(N, G, m)`, from `grouped` `(N, G, m)` and `mean`, `var` of
# shape `(N, G)`. It does not care where `mean` and `var` come from. Put `eps` under the root: the checks use `eps=0.5`.


# %% nbgrader={"grade": false, "grade_id": "solve-normalize", "locked": false, "schema_version": 3, "solution": true, "task": false}
def normalize_groups(grouped, mean, var, eps):
    """Return (x - mean) / sqrt(var + eps): grouped (N, G, m); mean, var (N, G) -> (N, G, m)."""
    ### BEGIN SOLUTION
    return (grouped - mean.unsqueeze(2)) / torch.sqrt(var + eps).unsqueeze(2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gn-step-normalize", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-step-normalize")

# %% [markdown]
# ### Put the groups back (1 point)
#
# `from_groups(grouped, shape)` undoes `to_groups`: it takes `(N, G, m)` and the shape `(N, C, *)` that `x` had, and returns
# a tensor of that shape with every value in its old place.


# %% nbgrader={"grade": false, "grade_id": "solve-from-groups", "locked": false, "schema_version": 3, "solution": true, "task": false}
def from_groups(grouped, shape):
    """Undo to_groups: (N, G, m) -> shape, which is (N, C, *)."""
    ### BEGIN SOLUTION
    return grouped.reshape(shape)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gn-step-from-groups", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gn-step-from-groups")

# %% [markdown]
# ### Scale and shift, channel by channel (2 points)
#
# `scale_channels(x_hat, weight, bias)` returns $y = \gamma\, \hat x + \beta$ of shape `(N, C, *)`. `weight` ($\gamma$) and `bias`
# ($\beta$) have the shape `(C,)`: **one number per channel, not per group**, the same at all places and in all samples.
# It works for every rank from 2 up.


# %% nbgrader={"grade": false, "grade_id": "solve-scale", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scale_channels(x_hat, weight, bias):
    """Return weight * x_hat + bias, one number per channel: x_hat (N, C, *); weight, bias (C,)."""
    ### BEGIN SOLUTION
    column = (1, -1) + (1,) * (x_hat.dim() - 2)  # (1, C, 1, ...)
    return weight.view(column) * x_hat + bias.view(column)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gn-step-scale", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("gn-step-scale")

# %% [markdown]
# ## 3. `GroupNorm` (23 points)
#
# `GroupNorm(num_groups, num_channels, eps=1e-5, affine=True)` is an `nn.Module`. The arguments may be given by position and
# by keyword. With $G$ = `num_groups` and $C$ = `num_channels` it does the five steps in one:
#
# $$ y = \gamma_c\, \frac{x - \mu_{ng}}{\sqrt{v_{ng} + \varepsilon}} + \beta_c, \qquad g = \text{the group of channel } c . $$
#
# **What it keeps.**
#
# | name | kind | shape | start | with `affine=False` |
# |---|---|---|---|---|
# | `weight` | parameter | `(C,)` | 1 | `None` |
# | `bias` | parameter | `(C,)` | 0 | `None` |
#
# Nothing else stands in `state_dict()`; with `affine=False` nothing at all, and there are no parameters. A `state_dict` can be
# loaded from and into `torch.nn.GroupNorm`, strictly, with the same arguments. Shapes and kinds stay as they are after a
# call. The layer may be moved (`.double()`), deep-copied, and put into an `nn.Sequential`; hooks fire, so override
# `forward` and not `__call__`.
#
# **Input.** `(N, C, *)`, any rank from 2 up, and the same layer may see one rank and then another. The set is one sample
# and one group of $C/G$ **neighbouring** channels, with all of space. The output has the shape and the dtype of `x`.
# `x` itself stays as it is. A constant group gives `bias`, not NaN: that is what `eps` is for.
#
# **Modes.** There are none: training and evaluation mode do the same, a call leaves nothing behind, and a sample's output
# does not depend on the other samples.
#
# **Few values.** One sample is enough. A **group of one value** ($C = G$ on `(N, C)`, for $N \ge 2$) is no error: it comes out as
# `bias`, whatever it was. (One single sample whose groups have one value each is refused by PyTorch. What your
# layer does with it is not graded.)
#
# **Errors.**
#
# - $C$ **not divisible by** $G$ raises `ValueError`, in the constructor or at the first call, as you like. Where the space
#   has a lucky size a reshape runs all the same, so ask.
# - A **wrong $C$** (`x.shape[1]` is not `num_channels`) raises an error. (A size of 1 would broadcast
#   silently. Better refuse it too; the checks ask only where nothing broadcasts.)
#   Fewer than two axes raise an error as well. `ValueError` is the one to choose; since PyTorch itself is of several
#   minds here, any kind of error is accepted. (Asked with `affine=True` only; without it PyTorch does not look.)
#
# **Gradients** flow by autograd to `x`, `weight` and `bias`, through mean and variance as well, in both modes. **Any of the three may
# be frozen**, that is, want no gradient. A constant group has a finite gradient.
#
# **Accuracy.** float32 with a mean of 100 standard deviations must still be right to float32's honest limits.


# %% nbgrader={"grade": false, "grade_id": "solve-group-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GroupNorm(nn.Module):
    """Group normalization of (N, C, *): each group of neighbouring channels of each sample on its own."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        ### BEGIN SOLUTION
        if num_channels % num_groups != 0:
            raise ValueError(f"{num_groups} groups do not divide {num_channels} channels")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        if x.dim() < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"expected (N, {self.num_channels}, *), got {tuple(x.shape)}")
        grouped = to_groups(x, self.num_groups)  # (N, G, m)
        mean, var = group_statistics(grouped)  # (N, G), (N, G)
        x_hat = from_groups(normalize_groups(grouped, mean, var, self.eps), x.shape)  # (N, C, *)
        return x_hat if self.weight is None else scale_channels(x_hat, self.weight, self.bias)
        ### END SOLUTION


# %% [markdown]
# **Constructor, names, `state_dict`** (3 points)

# %% nbgrader={"grade": true, "grade_id": "gn-interface", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("gn-interface")

# %% [markdown]
# **The output for `(N, C, L)`, in both modes** (5 points)

# %% nbgrader={"grade": true, "grade_id": "gn-output", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check("gn-output")

# %% [markdown]
# Your other three predictions and your layer. If they differ, one of the two is wrong: find out which before you go on.

# %% nbgrader={"grade": false, "grade_id": "compare-few-values", "locked": true, "schema_version": 3, "solution": false, "task": false}
rows = torch.tensor([[1.0, 3.0, 5.0, 105.0], [2.0, 4.0, 6.0, 8.0]])
computed = (
    GroupNorm(1, 4)(torch.tensor([[1.0, 3.0, 5.0, 7.0]]))[0, 0].item(),
    GroupNorm(2, 4)(rows)[0, 3].item(),
    GroupNorm(4, 4)(rows)[0, 3].item(),
)
print("                     predicted  computed")
few = {"one group": predicted_one_group, "pairs": predicted_pairs, "singles": predicted_singles}
for (name, guess), answer in zip(few.items(), computed, strict=True):
    print(f"{name:20s} {guess!s:>9.7}  {answer:8.4f}")

# %% [markdown]
# **Input of any rank: `(N, C)`, `(N, C, H, W)` and more** (4 points)

# %% nbgrader={"grade": true, "grade_id": "gn-shapes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("gn-shapes")

# %% [markdown]
# **Options: `eps` and `affine`** (2 points)

# %% nbgrader={"grade": true, "grade_id": "gn-options", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("gn-options")

# %% [markdown]
# **Errors** (2 points)

# %% nbgrader={"grade": true, "grade_id": "gn-errors", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("gn-errors")

# %% [markdown]
# **Gradients by autograd, anything frozen** (4 points)

# %% nbgrader={"grade": true, "grade_id": "gn-gradients", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("gn-gradients")

# %% [markdown]
# **Numerics: float32, float64, strided inputs, a large mean, `x` left alone** (3 points)

# %% nbgrader={"grade": true, "grade_id": "gn-numerics", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("gn-numerics")

# %% [markdown]
# > **What the first version of this lab got wrong, and what it left out**
# >
# > The first version was the page of section 1. What it printed was right, all twelve lines. But a reader could leave it
# > with nine wrong ideas, and its test would have passed for wrong layers. The next cell has a line for each.
# >
# > 1. **"Group norm with one group is layer norm."** It is the layer norm over *all* of a sample. It is not the layer
# >    norm of transformers, which looks at one token; the two are far apart.
# > 2. **"... so the two layers are the same."** Only with scale and shift switched off, as on the page. With them, layer
# >    norm over `(L, C)` learns a number for each *position* and channel; group norm learns one per channel. The first is
# >    tied to one sequence length.
# > 3. **The other end was missing.** With as many groups as channels, group norm is *instance norm*.
# > 4. **Which axis holds the channels.** The page transposed for you. Forget it, and `(N, L, C)` raises an error where
# >    $L \ne C$, and gives wrong numbers **without a word** where $L = C$.
# > 5. **Few values.** On `(N, C)` a group has only $C/G$ values: with one, everything becomes 0; with two, everything
# >    becomes $\pm 1$, and only the order survives.
# > 6. **A table into instance norm.** `nn.InstanceNorm1d(32)` takes an `(8, 32)` table for *one* sample with 8 channels. Only
# >    a warning says so.
# > 7. **Not every number of groups will do.** 5 groups of 32 channels are refused.
# > 8. **"0.0000".** Four decimals hide that the variances miss 1 by about $10^{-5}$. That is not rounding but $\varepsilon$: a
# >    normalized set has the variance $v/(v + \varepsilon)$. And the one `False` of the page understates what it is about:
# >    its input had mean 0 and variance 1 before anybody normalized it. Shift and stretch it, and batch norm's two modes
# >    are worlds apart.
# > 9. **A report of means and variances cannot fail enough.** Turn the sign of every output, or reverse the places
# >    inside every sample: each set still has mean 0 and variance 1. *A test earns trust by the wrong answers that it rejects.*
# >    The checks here compare every number.
# >
# > (Even its title had a fault: a stray ¶, left over from a copied link.)

# %% nbgrader={"grade": false, "grade_id": "left-out", "locked": true, "schema_version": 3, "solution": false, "task": false}
import warnings


def gap(a, b):
    """The largest difference."""
    return (a - b).abs().max().item()


def attempt(call):
    """Say what comes of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = f"shape {tuple(call().shape)}, no error"
        except Exception as error:
            outcome = f"{type(error).__name__}: {str(error)[:75]}"
    return outcome + "".join(f"; warning: {str(w.message)[:60]}..." for w in caught)


x_ncl = x.transpose(1, 2)  # (N, C, L)
y_one, y_four = nn.GroupNorm(1, C)(x_ncl), nn.GroupNorm(4, C)(x_ncl)
print("1. GN (1 group) against LN (token): largest difference", f"{gap(y_one.transpose(1, 2), nn.LayerNorm(C)(x)):.3f}")
count = {layer: sum(p.numel() for p in layer.parameters()) for layer in (nn.LayerNorm((L, C)), nn.GroupNorm(1, C))}
print("2. parameters with affine on: LN (L, C)", *count.values(), "GN (1 group)", sep="  ")
print("3. GN (32 groups) against InstanceNorm1d:", f"{gap(nn.GroupNorm(C, C)(x_ncl), nn.InstanceNorm1d(C)(x_ncl)):.1e}")
square = torch.randn(8, 32, 32, generator=torch.Generator().manual_seed(0))  # (N, L, C) with L = C
print("4. (N, L, C) into GN: ", attempt(lambda: nn.GroupNorm(4, 32)(x)))
print("   with L = C:        ", attempt(lambda: nn.GroupNorm(4, 32)(square)))
silent = gap(nn.GroupNorm(4, 32)(square), nn.GroupNorm(4, 32)(square.transpose(1, 2)).transpose(1, 2))
print(f"   and it is off by    {silent:.3f}")
table = x[:, 0]  # (8, 32)
singles, pairs = nn.GroupNorm(32, 32)(table).abs(), nn.GroupNorm(16, 32)(table).abs()
print(f"5. (8, 32) into 32 groups: largest |y| {singles.max():.0e} (0 but for rounding)")
print(f"   into 16 groups: |y| lies between 0.99 and 1 for {100 * (pairs > 0.99).float().mean():.0f} % of the outputs")
print("6. (8, 32) into InstanceNorm1d(32):", attempt(lambda: nn.InstanceNorm1d(32)(table)))
print("7. GroupNorm(5, 32):", attempt(lambda: nn.GroupNorm(5, 32)))
print("8. more digits of the page:", *fine, sep="\n      ")
for name, data in (("the page's input", x_ncl), ("5 x + 3", 5 * x_ncl + 3)):
    bn = nn.BatchNorm1d(C, affine=False)
    print(f"   BN, {name}: training against evaluation {gap(bn.train()(data), bn.eval()(data)):.2f}")
for name, wrong in (("sign turned", -y_four), ("places reversed", y_four.flip(2))):
    sets = wrong.detach().unflatten(1, (4, -1)).flatten(2)  # (N, G, m)
    var, mean = torch.var_mean(sets, dim=2, correction=0)
    print(
        f"9. {name}: |mean| {mean.abs().max():.4f}, |var - 1| {(var - 1).abs().max():.4f}, off by {gap(wrong, y_four):.1f}"
    )

# %% [markdown]
# ## 4. `InstanceNorm2d` (11 points)
#
# `InstanceNorm2d(num_features, eps=1e-5, affine=False)` is the other end: as many groups as channels, for images. It is an
# `nn.Module` whose input is `(N, C, H, W)`. Each channel of each image is normalized on its own, over its $m = H W$ pixels,
# with the biased variance and `eps` under the root.
#
# - **`affine` is `False` by default.** Then there are no parameters, and `state_dict()` is empty. With `affine=True` there are `weight` and
#   `bias` of shape `(C,)`, starting at 1 and 0, as in `GroupNorm`; a `state_dict` can then be loaded from and into
#   `torch.nn.InstanceNorm2d`, strictly.
# - **Nothing is tracked**: no buffers, and **both modes do the same**.
# - The arguments may be given by position and by keyword. Input and output have the same shape and dtype, `x` stays as it
#   is, hooks fire, the layer may be moved and deep-copied. Gradients, frozen inputs, strided inputs ("channels last"
#   images too) and accuracy: as for `GroupNorm`.
# - **`ValueError` for images of one pixel** ($H W = 1$), in both modes and whatever $N$ is: one number says nothing about its
#   spread. One image is fine, and so is an image of two pixels.
# - **An error for a wrong rank** (one, two, five or more axes: a table `(N, C)` is not an image) **and for a wrong $C$**, with or
#   without `affine`. (PyTorch only warns about a wrong $C$ when `affine=False`. Here it is an error.) `ValueError` is the one
#   to choose; any kind of error is accepted. Three axes, which PyTorch takes for one image, are not asked about.


# %% nbgrader={"grade": false, "grade_id": "solve-instance-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class InstanceNorm2d(nn.Module):
    """Instance normalization of (N, C, H, W): each channel of each image on its own."""

    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        ### BEGIN SOLUTION
        self.num_features, self.eps = num_features, eps
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        if x.dim() != 4 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (N, {self.num_features}, H, W), got {tuple(x.shape)}")
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError(f"an image of one pixel has no variance; got {tuple(x.shape)}")
        mean = x.mean(dim=(2, 3), keepdim=True)  # (N, C, 1, 1)
        centred = x - mean  # (N, C, H, W)
        var = (centred**2).mean(dim=(2, 3), keepdim=True)  # (N, C, 1, 1)
        x_hat = centred / torch.sqrt(var + self.eps)
        if self.weight is None:
            return x_hat
        return self.weight.view(-1, 1, 1) * x_hat + self.bias.view(-1, 1, 1)
        ### END SOLUTION


# %% [markdown]
# **Constructor, names, nothing tracked** (2 points), **the output** (3 points), **errors** (2 points), **gradients** (2 points),
# **numerics** (2 points)

# %% nbgrader={"grade": true, "grade_id": "in2d-interface", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("in2d-interface")

# %% nbgrader={"grade": true, "grade_id": "in2d-output", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("in2d-output")

# %% nbgrader={"grade": true, "grade_id": "in2d-errors", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("in2d-errors")

# %% nbgrader={"grade": true, "grade_id": "in2d-gradients", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("in2d-gradients")

# %% nbgrader={"grade": true, "grade_id": "in2d-numerics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("in2d-numerics")

# %% [markdown]
# ## 5. The backward pass by hand (17 points)
#
# So far autograd did the work. Now you do it. Let $\ell$ be a loss, and let `grad_out` be $dy = \partial \ell / \partial y$, of the
# shape of `x`. In grouped shape, row by row with $m$ values, the forward pass is this graph:
#
# $$
# \begin{aligned}
# x &\to \mu, & (x, \mu) &\to v = \tfrac1m \textstyle\sum_i (x_i - \mu)^2, \\
# (x, \mu, v) &\to \hat x, & \hat x &\to y = \gamma_{c(i)}\, \hat x_i + \beta_{c(i)} .
# \end{aligned}
# $$
#
# Go through it from the end. A number that is used in several places collects a gradient from each. What is new in
# comparison with batch norm: **inside one set there are several channels**, and so several numbers $\gamma$.
#
# ### Every intermediate (7 points)
#
# `group_backward_steps(grad_out, x, num_groups, weight, eps)` returns a dictionary with these seven keys. `grad_out` and `x` are
# `(N, C, *)`, `weight` is `(C,)`; $m$ is the number of values in a group.
#
# | key | shape | what |
# |---|---|---|
# | `"mean"` | `(N, G)` | $\mu$ |
# | `"var"` | `(N, G)` | the biased variance $v$ |
# | `"x_hat"` | `(N, G, m)` | $\hat x$ |
# | `"grad_x_hat"` | `(N, G, m)` | $\partial \ell / \partial \hat x$: `grad_out` has met the weight **of its own channel** |
# | `"grad_var"` | `(N, G)` | $\partial \ell / \partial v$: $v$ stands in every $\hat x_i$ of its group, so a sum |
# | `"grad_mean"` | `(N, G)` | $\partial \ell / \partial \mu$, **total**: directly through every $\hat x_i$, and through $v$, which is a function of $x$ and $\mu$ |
# | `"grad_x"` | `(N, C, *)` | $\partial \ell / \partial x$: three paths, directly through $\hat x$, through $v$, through $\mu$; put back into the shape of `x` |
#
# One of the terms of `grad_mean` is zero on paper, because $\sum_i (x_i - \mu) = 0$. Keep it or leave it out.
# You need $\partial \hat x_i / \partial v = -\tfrac12 (x_i - \mu)(v + \varepsilon)^{-3/2}$.
#
# The derivation, if you are stuck: [Mathematical Formulation](../../book/mathematical-formulation.md), the sections "The
# backward pass, once for all" and "Group norm backward".


# %% nbgrader={"grade": false, "grade_id": "solve-backward-steps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def group_backward_steps(grad_out, x, num_groups, weight, eps):
    """Return every intermediate of the backward pass; grad_out, x (N, C, *); weight (C,)."""
    ### BEGIN SOLUTION
    grouped = to_groups(x, num_groups)  # (N, G, m)
    m = grouped.shape[2]
    mean, var = group_statistics(grouped)  # (N, G), (N, G)
    x_hat = normalize_groups(grouped, mean, var, eps)  # (N, G, m)
    centred = grouped - mean.unsqueeze(2)
    root = torch.sqrt(var + eps)
    grad_x_hat = to_groups(scale_channels(grad_out, weight, torch.zeros_like(weight)), num_groups)  # (N, G, m)
    grad_var = (grad_x_hat * centred).sum(dim=2) * (-0.5) * root**-3
    grad_mean = -grad_x_hat.sum(dim=2) / root + grad_var * (-2 / m) * centred.sum(dim=2)
    through_var = (grad_var * 2 / m).unsqueeze(2) * centred
    grad_x = grad_x_hat / root.unsqueeze(2) + through_var + (grad_mean / m).unsqueeze(2)
    return {
        "mean": mean,
        "var": var,
        "x_hat": x_hat,
        "grad_x_hat": grad_x_hat,
        "grad_var": grad_var,
        "grad_mean": grad_mean,
        "grad_x": from_groups(grad_x, x.shape),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "gnb-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gnb-mean")

# %% nbgrader={"grade": true, "grade_id": "gnb-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gnb-var")

# %% nbgrader={"grade": true, "grade_id": "gnb-x-hat", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gnb-x-hat")

# %% nbgrader={"grade": true, "grade_id": "gnb-grad-x-hat", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gnb-grad-x-hat")

# %% nbgrader={"grade": true, "grade_id": "gnb-grad-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gnb-grad-var")

# %% nbgrader={"grade": true, "grade_id": "gnb-grad-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gnb-grad-mean")

# %% nbgrader={"grade": true, "grade_id": "gnb-grad-x", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("gnb-grad-x")

# %% [markdown]
# ### In one formula (10 points)
#
# Put the three paths together on paper. Most of it cancels, and two means over the group remain. In batch norm, $\gamma$ could
# be pulled out of them, since a set there has one channel. Here it cannot. (This is the mistake that people make most.)
#
# `group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5)` returns a tuple `(grad_x, grad_weight, grad_bias)`:
#
# - `grad_out`, `x`: `(N, C, *)`, any rank from 2 up; `weight`: `(C,)`; `num_groups` divides $C$. It may be called by position and by
#   keyword;
# - `grad_x`: the gradient of the loss with respect to `x`, of the shape of `x`;
# - `grad_weight`, `grad_bias`: `(C,)`, **sums** over the batch and over space, not means; the dtype of all three is that of `x`;
# - **no autograd** in it: no `torch.autograd`, no `.backward()`, no call of a layer of which PyTorch takes the gradient;
# - its **arguments stay unchanged**;
# - right for small variances and a large `eps`, in float64 and float32, for strided inputs, for a constant group, and for
#   groups of one value.
#
# You may call `group_backward_steps`. A shorter way needs neither `grad_var` nor `grad_mean`.


# %% nbgrader={"grade": false, "grade_id": "solve-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    """Return (grad_x, grad_weight, grad_bias); grad_out, x (N, C, *); weight (C,)."""
    ### BEGIN SOLUTION
    grouped = to_groups(x, num_groups)  # (N, G, m)
    mean, var = group_statistics(grouped)
    x_hat = normalize_groups(grouped, mean, var, eps)  # (N, G, m)
    all_but_channels = (0, *range(2, x.dim()))
    grad_bias = grad_out.sum(dim=all_but_channels)
    grad_weight = (grad_out * from_groups(x_hat, x.shape)).sum(dim=all_but_channels)
    g = to_groups(scale_channels(grad_out, weight, torch.zeros_like(weight)), num_groups)  # weight first, then means
    kept = g - g.mean(dim=2, keepdim=True) - x_hat * (g * x_hat).mean(dim=2, keepdim=True)
    return from_groups(kept / torch.sqrt(var + eps).unsqueeze(2), x.shape), grad_weight, grad_bias
    ### END SOLUTION


# %% [markdown]
# **`grad_x`** (4 points), **`grad_weight` and `grad_bias`** (3 points), **numerics and manners** (3 points)

# %% nbgrader={"grade": true, "grade_id": "gnb-input", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("gnb-input")

# %% nbgrader={"grade": true, "grade_id": "gnb-parameters", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("gnb-parameters")

# %% nbgrader={"grade": true, "grade_id": "gnb-numerics", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("gnb-numerics")

# %% [markdown]
# ## 6. The experiment: is it the batch that is small?
#
# Group norm became known by one figure: on ImageNet, batch norm's error rises steeply as the batch of each GPU shrinks
# from 32 images to 2, and group norm's stays where it is (Wu and He, 2018). The usual summary is "batch norm needs large batches". Here
# is a more careful question, made precise **before** anything runs.
#
# A mean is taken over $m$ values. In a layer on `(N, C)`, batch norm has $m = N$. In one on `(N, C, H, W)` it has $m = N H W$. So:
#
# 1. Take a network of linear layers. **Does batch norm fail at batches of 2, where group norm does not?** ($m = 2$.)
# 2. Take a small convolutional network, whose normalized maps have 4 x 4 places. **Does it fail there too?** ($m = 32$.)
#
# What is held fixed: 150 updates for every batch size, one learning rate, the same weights at the start for every norm, the
# same batches. A network with batches of 2 sees 300 images, one with batches of 32 sees 4800; small batches do worse
# for that reason alone. Therefore a **control** without normalization runs along, and what counts is the comparison
# inside one batch size. Batch norm is PyTorch's, measured in evaluation mode. Group norm and instance norm are **yours**.
#
# Say now what you expect of each of the two networks, and what you would have to see to give up "batch norm needs large
# batches".
#
# The data are the 1797 handwritten digits of scikit-learn, 8 x 8 pixels. All of it takes 15 to 40 seconds.

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-networks", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

BATCH_SIZES, UPDATES, RATE, SEEDS, BUDGET_S = (2, 4, 32), 150, 0.02, 4, 45
torch.set_num_threads(1)  # the tensors are small: several threads would mostly wait for one another

pixels, classes = load_digits(return_X_y=True)
order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(0))
images, classes = torch.tensor(pixels, dtype=torch.float32)[order], torch.tensor(classes)[order]
train_images, train_classes = images[:1347], classes[:1347]
test_images, test_classes = images[1347:], classes[1347:]
mean, std = train_images.mean(), train_images.std()  # of the training part only
train_images, test_images = (train_images - mean) / std, (test_images - mean) / std


def linear_network(norm):
    """Two hidden layers of 64 units: the norm sees (N, 64)."""
    linear = [nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)]
    return nn.Sequential(linear[0], norm(64), nn.ReLU(), linear[1], norm(64), nn.ReLU(), linear[2])


def convolutional_network(norm):
    """Two layers of 16 maps: the norm sees (N, 16, 4, 4)."""
    maps = [nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.Conv2d(16, 16, 3, padding=1)]
    last = nn.Linear(256, 10)
    image = nn.Unflatten(1, (1, 8, 8))
    return nn.Sequential(image, maps[0], norm(16), nn.ReLU(), maps[1], norm(16), nn.ReLU(), nn.Flatten(), last)


NETWORKS = {
    "linear, m = N": (
        linear_network,
        {
            "no normalization": lambda c: nn.Identity(),
            "batch norm": nn.BatchNorm1d,
            "group norm, 1 group": lambda c: GroupNorm(1, c),
            "group norm, 8 groups": lambda c: GroupNorm(8, c),
        },
    ),
    "convolutional, m = 16 N": (
        convolutional_network,
        {
            "no normalization": lambda c: nn.Identity(),
            "batch norm": nn.BatchNorm2d,
            "group norm, 4 groups": lambda c: GroupNorm(4, c),
            "instance norm": lambda c: InstanceNorm2d(c, affine=True),
        },
    ),
}


def error_after_training(make, norm, batch_size, seed):
    """Train one network; return its test error in %, in evaluation mode."""
    torch.manual_seed(seed)  # the same weights for every norm: none of them draws
    model = make(norm)
    draws = torch.Generator().manual_seed(1000 + seed)  # the same batches for every norm
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    for _ in range(UPDATES):
        batch = torch.randint(len(train_images), (batch_size,), generator=draws)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train_images[batch]), train_classes[batch]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        return 100 * (model(test_images).argmax(1) != test_classes).float().mean().item()


results, started = {}, time.thread_time()
for seed in range(SEEDS):
    this_seed = {}
    for network, (make, norms) in NETWORKS.items():
        for name, norm in norms.items():
            for size in BATCH_SIZES:
                if time.thread_time() - started < BUDGET_S:
                    this_seed[network, name, size] = error_after_training(make, norm, size, seed)
    if len(this_seed) < sum(len(norms) * len(BATCH_SIZES) for _, norms in NETWORKS.values()):
        print(f"Stopped after {BUDGET_S} s of CPU time: {seed} of {SEEDS} seeds are complete; only those count.")
        break
    for place, error in this_seed.items():
        results.setdefault(place, []).append(error)
if not results:
    raise RuntimeError(f"No seed was complete in {BUDGET_S} s of CPU time; does your layer loop over samples?")

seeds = len(next(iter(results.values())))
print(f"Test error in %, mean +- standard deviation of {seeds} seeds, {UPDATES} updates each")
for network, (_, norms) in NETWORKS.items():
    print(f"\n{network:26s}" + "".join(f"  batches of {size:2d}" for size in BATCH_SIZES))
    for name in norms:
        columns = (torch.tensor(results[network, name, size]) for size in BATCH_SIZES)
        print(
            f"   {name:23s}"
            + "".join(f"   {e.mean():5.1f} +- {e.std(correction=min(1, seeds - 1)):4.1f}" for e in columns)
        )

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
if not results:
    raise RuntimeError("There is no trained network yet: the cell above must run to its end first.")

STYLES = (("#707070", "^"), ("#c1440e", "o"), ("#1f5fa8", "s"), ("#2e7d32", "D"))
figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, constrained_layout=True)
for panel, (network, (_, norms)) in zip(panels, NETWORKS.items(), strict=True):
    for k, (name, (colour, marker)) in enumerate(zip(norms, STYLES, strict=True)):
        errors = [torch.tensor(results[network, name, size]) for size in BATCH_SIZES]
        place = [size * 1.08 ** (k - 1.5) for size in BATCH_SIZES]  # side by side: no bar hides another
        centre, bar = zip(*((e.mean().item(), e.std(correction=min(1, seeds - 1)).item()) for e in errors), strict=True)
        panel.errorbar(place, centre, yerr=bar, color=colour, marker=marker, capsize=3, label=name)
    panel.set_xscale("log", base=2)
    panel.set_xticks(BATCH_SIZES, [str(size) for size in BATCH_SIZES])
    panel.set(xlabel="batch size", title=network, ylim=(0, None))
    panel.legend(frameon=False)
panels[0].set_ylabel("test error (%), evaluation mode")
plt.show()

# %% [markdown]
# **Read it with care.** The bars are standard deviations over a few seeds of two small networks on one small data set, and
# the learning rate is tuned for none of them. Where two bars overlap, four seeds do not decide which norm is better.
# And the settings were not the first that were tried: about seven were, with other widths, rates and numbers of updates, before
# the picture was clear within a minute. That is a choice made after looking, and a good reason to run it once more with your own.
#
# **And read it honestly.** The steep curve of the ImageNet figure is *not* what the right panel shows. The feature maps of a large
# network on large images are small at the end, and its batches of 2 are hard in other ways too; a small convolutional
# network on 8 x 8 pixels is no miniature of it. If your run disagrees with what you have read about group norm, write what you see.

# %% [markdown]
# ## 7. A written answer (6 points, graded by a person)
#
# In about 150 words, with numbers from **your** table and figure:
#
# **(a)** In which of the two networks, and at which batch size, does batch norm cost something that the control does not explain? What
# does group norm do there?
# **(b)** Explain the difference between the two networks from the formulas: how many values stand behind one of batch norm's means at
# batches of 2, in each network, and behind one of group norm's? Which of the two numbers depends on the batch?
# **(c)** A colleague replaces every `BatchNorm1d(64)` of a network of linear layers by `GroupNorm(32, 64)`, because "32 is the usual
# number of groups". The network learns nothing. What comes out of such a layer, why, and what do you propose?
#
# How it is graded, two points for each part:
#
# | | 2 points | 1 point | 0 points |
# |---|---|---|---|
# | (a) | names network and size, uses the control, gives numbers for batch norm, control and group norm | numbers without the control, or the control without numbers | no numbers of the run |
# | (b) | $m = N$ = 2 against $m = N H W$ = 32 for batch norm, $m$ of group norm from $C/G$ and space, and that it does not depend on $N$ | only one of the two norms, or no numbers | neither |
# | (c) | two values per group, so only $\pm 1$ (times weight, plus bias) comes out; a remedy with more values per group | one of the two | neither |

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-answer", "locked": false, "points": 6, "schema_version": 3, "solution": true, "task": false}
# (a) In the network of linear layers at batches of 2: batch norm errs in 62 +- 9 %, the control in 38 +- 10 %, group norm in
# 33 +- 8 % with 1 group and 34 +- 5 % with 8 (my run, 4 seeds). At 4 and 32 batch norm is no worse than the others. In the
# convolutional network it is at no size worse than the control: at 2 it has 18 +- 5 % against 27 +- 7 %, and group norm 20 +- 7 %.
#
# (b) Batch norm on (N, C) has m = N = 2 values behind a mean, so x_hat is little more than a sign, and evaluation mode then uses
# other numbers than training did. On 4 x 4 maps it has m = N H W = 2 * 16 = 32. Group norm has C/G values on (N, 64): 64 or 8;
# on the maps 4 channels * 16 places = 64. N is in none of these, so group norm does not know the batch size. It is m
# that counts, not the batch.
#
# (c) GroupNorm(32, 64) on (N, 64) has two values per group. Their distances from their mean are equal, so +1 and -1 come out
# whatever the inputs, and the gradient of x is nearly 0 (or huge where the two almost agree). Use fewer groups: 8 groups of 8, or
# one group, which is layer norm.

# %% [markdown]
# ## 8. Stretch (no points)
#
# **The order of the channels.** Shuffle the channels of `x`, normalize, and shuffle back. For which of the norms of section 1 does
# the result stay the same, and for which not? A network with group norm has an order among its channels that it did not have
# before. Does training notice? Shuffle the maps of a trained network (and the weights that read them) and measure.
#
# **Half precision.** Let `x = (300 * torch.randn(4, 6, 5, 5)).half()`. What is the largest number that float16 can hold, and
# what is 300 squared? Make your layer accept float16 and bfloat16, with statistics in float32 and an output in the dtype of
# `x`. Compare with float64.
#
# **Where the figure breaks.** Add a layer with stride 4 to the convolutional network, so that its last maps have one place. From which
# $m$ on does batch norm fail? Plot the error over $m$ in place of the batch size, for both networks.

# %%
# Your own trials go here.
