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
# # Lab 1: Batch Normalization
#
# **The question.** A layer that divides by a standard deviation looks harmless. Yet a network with batch
# normalization gives one and the same image different answers, depending on which other images happen to share its
# batch. Where does that come from, how large is it, and what makes it go away?
#
# To answer this you build the layer, run it backwards by hand, and measure it.
#
# **When you are done you can**
#
# 1. say which numbers share a mean and a variance, for inputs of shape `(N, C)`, `(N, C, L)` and `(N, C, H, W)`;
# 2. keep running statistics as PyTorch does, and say what each mode of the layer uses;
# 3. derive the backward pass, with every intermediate checked;
# 4. tell from a figure what a small batch does to training, to evaluation, and to a single prediction.
#
# **Time:** 60 to 90 minutes. **Points:** 84, of which 78 are given by the machine and 6 by a person.
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
# **What may not do the work.** PyTorch's own normalization modules and functions: `nn.BatchNorm1d`, `nn.LayerNorm`,
# `F.batch_norm`, `torch.native_batch_norm`, `F.instance_norm`, `F.group_norm` and their relatives. Do not call them in
# your solutions, and do not inherit from them. The grader looks at the operators that run and at the source; an
# exercise that uses one loses its points, and the report says so. Outside your solutions, in cells of your own, compare
# with them as much as you like.
#
# **What is welcome.** Any honest style: loops or none, `mean` or sums, `torch.var_mean`, `einops`, Welford's method,
# your own `autograd.Function`, float32 inside for float64 inputs, other names inside your functions, prints. A
# buffer may be changed in place or rebound. `BatchNorm2d` may use `BatchNorm1d`, and both may use the functions of
# the first steps. Mind the price: a fault in a function that three exercises share can cost points in all three.
#
# **All of it must hold** in float64 and in float32, for contiguous inputs and for others (transposed, sliced). Half
# precision is a stretch exercise at the end, without points.

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
# ## 1. What the layer computes
#
# Take one channel (one column of a batch `(N, C)`). It has $m$ values $x_1, \dots, x_m$. In **training mode**
#
# $$
# \begin{aligned}
# \mu &= \frac1m \sum_i x_i, & v &= \frac1m \sum_i (x_i - \mu)^2, \\
# \hat x_i &= \frac{x_i - \mu}{\sqrt{v + \varepsilon}}, & y_i &= \gamma\, \hat x_i + \beta .
# \end{aligned}
# $$
#
# $v$ is the **biased** variance: the sum is divided by $m$. $\gamma$ and $\beta$ are learned; PyTorch calls them
# `weight` and `bias`. They start at 1 and 0. $\varepsilon$ (`eps`) stands **under the root**.
#
# The layer also remembers what it saw, for **evaluation mode**, where a batch may be a single sample:
#
# $$
# \begin{aligned}
# r_\mu &\leftarrow (1 - \alpha)\, r_\mu + \alpha\, \mu, \\
# r_v &\leftarrow (1 - \alpha)\, r_v + \alpha\, \frac{m}{m-1}\, v .
# \end{aligned}
# $$
#
# Two things in these lines are easy to get wrong.
#
# - $\alpha$ is `momentum`, and it is the **weight of the new value**. Keras and Flax use the same word for the weight
#   of the old one.
# - `running_var` receives the **unbiased** variance $\frac{m}{m-1} v$, although the layer normalizes with the biased $v$.
#
# $r_\mu$ (`running_mean`) starts at 0 and $r_v$ (`running_var`) at 1. In evaluation mode they take the places of $\mu$
# and $v$, and nothing is updated.
#
# ### Predict first (3 points)
#
# A fresh `BatchNorm1d(1)` with its defaults (`eps=1e-5`, `momentum=0.1`) is in training mode. It is called once, with the
# column $x = (1, 3, 5, 7)$. With pencil and paper, and before you write the layer:
#
# - `predicted_output`: the **first** number that comes out (the one for $x_1 = 1$);
# - `predicted_running_mean` and `predicted_running_var`: the two running statistics **after** this call.
#
# Each is one number, right to two decimals. The checks only note what you say. You will see below whether it was true,
# when your own layer answers.

# %% nbgrader={"grade": false, "grade_id": "solve-predictions", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_output = None
predicted_running_mean = None
predicted_running_var = None
### BEGIN SOLUTION
predicted_output = -3 / 5**0.5  # mu = 4, v = (9 + 1 + 1 + 9) / 4 = 5
predicted_running_mean = 0.9 * 0 + 0.1 * 4
predicted_running_var = 0.9 * 1 + 0.1 * 5 * 4 / 3
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "predict-output", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("predict-output")

# %% nbgrader={"grade": true, "grade_id": "predict-running-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("predict-running-mean")

# %% nbgrader={"grade": true, "grade_id": "predict-running-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("predict-running-var")

# %% [markdown]
# ## 2. Three steps
#
# ### The statistics of a batch (2 points)
#
# `batch_statistics(x)` takes `x` of shape `(N, C)` and returns `(mean, var)`: the mean and the **biased** variance of
# each column, each of shape `(C,)`. Compute the variance from the differences `x - mean`. The short cut
# $\overline{x^2} - \mu^2$ is equal on paper and useless in float32 when the mean is large: later checks use a mean of
# 100 standard deviations.


# %% nbgrader={"grade": false, "grade_id": "solve-statistics", "locked": false, "schema_version": 3, "solution": true, "task": false}
def batch_statistics(x):
    """Return the mean and the biased variance of each column: x (N, C) -> (C,), (C,)."""
    ### BEGIN SOLUTION
    mean = x.mean(dim=0)  # (C,)
    differences = x - mean  # (N, C)
    return mean, (differences * differences).mean(dim=0)  # (C,), (C,)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "step-statistics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("step-statistics")

# %% [markdown]
# ### Centre and scale (2 points)
#
# `normalize(x, mean, var, eps)` returns $\hat x$ of shape `(N, C)`, from `x` `(N, C)` and `mean`, `var` of shape `(C,)`.
# It does not care where `mean` and `var` come from. Put `eps` under the root: the checks use `eps=0.5`, where every
# other place shows.


# %% nbgrader={"grade": false, "grade_id": "solve-normalize", "locked": false, "schema_version": 3, "solution": true, "task": false}
def normalize(x, mean, var, eps):
    """Return (x - mean) / sqrt(var + eps): x (N, C); mean, var (C,) -> (N, C)."""
    ### BEGIN SOLUTION
    return (x - mean) / torch.sqrt(var + eps)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "step-normalize", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("step-normalize")

# %% [markdown]
# ### Remember (2 points)
#
# `updated_running(running_mean, running_var, mean, var, n, momentum)` returns the two new running statistics
# `(running_mean, running_var)`, each of shape `(C,)`. `mean` and `var` are those of a batch of `n` values per channel, and
# `var` is the **biased** variance: turning it into the unbiased one is part of the step. `momentum` is a number from 0
# to 1, the weight of the new value.


# %% nbgrader={"grade": false, "grade_id": "solve-running", "locked": false, "schema_version": 3, "solution": true, "task": false}
def updated_running(running_mean, running_var, mean, var, n, momentum):
    """Return both running statistics after a batch of n values; var is the biased variance."""
    ### BEGIN SOLUTION
    unbiased = var * (n / (n - 1))
    new_mean = (1 - momentum) * running_mean + momentum * mean
    new_var = (1 - momentum) * running_var + momentum * unbiased
    return new_mean, new_var
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "step-running", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("step-running")

# %% [markdown]
# ## 3. `BatchNorm1d` (30 points)
#
# Now the layer. Write it in the order of the checks below: constructor, training mode, running statistics,
# evaluation. After each, run the check, then come back to the cell.
#
# `BatchNorm1d(num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True)` is an `nn.Module`.
#
# **What it keeps.** With $C$ = `num_features`:
#
# | name | kind | shape | dtype | start | when absent |
# |---|---|---|---|---|---|
# | `weight` | parameter | `(C,)` | float | 1 | `None` if `affine=False` |
# | `bias` | parameter | `(C,)` | float | 0 | `None` if `affine=False` |
# | `running_mean` | buffer | `(C,)` | float | 0 | `None` if `track_running_stats=False` |
# | `running_var` | buffer | `(C,)` | float | 1 | `None` if `track_running_stats=False` |
# | `num_batches_tracked` | buffer | `()`, 0-dimensional | int64 | 0 | `None` if `track_running_stats=False` |
#
# Nothing else stands in `state_dict()`. A `state_dict` can be loaded from and into `torch.nn.BatchNorm1d`, strictly, with
# the same arguments. Shapes and kinds stay as they are after a call. The layer may be moved (`.double()`), deep-copied,
# and put into an `nn.Sequential`; hooks fire, so override `forward` and not `__call__`.
#
# **Input.** `(N, C)` or `(N, C, L)`. The channel is **axis 1**. For `(N, C, L)` the set of a channel is every sample
# and every position, $m = N L$ values. (Text often comes as `(N, L, C)`; where $L = C$ no error can warn you.) The same
# layer may see one shape and then the other. The output has the shape and the dtype of `x`. `x` itself stays as it is.
#
# **Training mode** (`self.training` is true): normalize with the mean and the biased variance of the batch, then apply
# `weight` and `bias`. A constant channel gives `bias`, not NaN: that is what `eps` is for. If statistics are tracked,
# update them:
#
# - `running_mean` with the mean, `running_var` with the **unbiased** variance, without `eps`;
# - `momentum` is the weight of the **new** value (0 and 1 are allowed);
# - `momentum=None` means the **cumulative average**: after $k$ calls each batch weighs $1/k$. The count is
#   `num_batches_tracked`, so the average goes on from a loaded state;
# - `num_batches_tracked` grows by 1 with each call in training mode;
# - the update **keeps no graph**: buffers never require a gradient, and two training steps in a row work.
#
# **Evaluation mode:** normalize with the running statistics and leave all buffers **untouched**. A single sample is
# fine. With `track_running_stats=False` there are none, so the batch's own statistics are used **in both modes**.
#
# **The mode is `self.training`**, set by `train()` and `eval()` on the layer or on a model around it. It is never
# whether gradients are enabled: training mode under `torch.no_grad()` still uses and remembers the batch.
#
# **Errors.** `ValueError`
#
# - for **one value per channel** ($m = 1$) wherever the batch's statistics are used: a variance of one number says
#   nothing. $m$ counts, not $N$: `(1, C, 3)` is fine;
# - for a **wrong rank** (other than 2 or 3 axes), in both modes;
# - for a **wrong $C$** (`x.shape[1]` is not `num_features`), in both modes, whatever the options. A size of 1 would
#   broadcast silently; refuse it too.
#
# **Gradients** flow by autograd to `x`, `weight` and `bias`, through the batch's mean and variance as well. This is
# asked in training mode **and in evaluation mode** (there the statistics are constants). **Any of the three may be
# frozen**, that is, want no gradient. An evaluation between a forward pass and its backward pass disturbs nothing.
#
# **Accuracy.** float32 with a mean of 100 standard deviations must still be right to float32's honest limits.


# %% nbgrader={"grade": false, "grade_id": "solve-bn1d", "locked": false, "schema_version": 3, "solution": true, "task": false}
class BatchNorm1d(nn.Module):
    """Batch normalization of (N, C) or (N, C, L), each channel over all other axes."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        ### BEGIN SOLUTION
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        buffers = {
            "running_mean": torch.zeros(num_features),
            "running_var": torch.ones(num_features),
            "num_batches_tracked": torch.tensor(0),
        }
        for name, start in buffers.items():
            self.register_buffer(name, start if track_running_stats else None)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        if x.dim() not in (2, 3) or x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels on axis 1 of 2 or 3, got {tuple(x.shape)}")
        last = x.movedim(1, -1)  # (N, C) or (N, L, C)
        rows = last.reshape(-1, self.num_features)  # (m, C): one row per value of a channel
        tracked = self.running_mean is not None
        if self.training or not tracked:
            if len(rows) == 1:
                raise ValueError(f"one value per channel has no variance; got {tuple(x.shape)}")
            mean, var = batch_statistics(rows)  # (C,), (C,)
            if tracked:
                self.remember(mean.detach(), var.detach(), len(rows))
        else:
            mean, var = self.running_mean, self.running_var  # (C,), (C,)
        y = normalize(rows, mean, var, self.eps)  # (m, C)
        if self.weight is not None:
            y = y * self.weight + self.bias
        return y.reshape(last.shape).movedim(-1, 1)

    @torch.no_grad()
    def remember(self, mean, var, m):
        """Put a batch of m values per channel into the running statistics."""
        self.num_batches_tracked += 1
        share = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
        new_mean, new_var = updated_running(self.running_mean, self.running_var, mean, var, m, share)
        self.running_mean.copy_(new_mean)
        self.running_var.copy_(new_var)
        ### END SOLUTION


# %% [markdown]
# **Constructor, names, `state_dict`** (2 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-interface", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("bn1d-interface")

# %% [markdown]
# **Training mode: the output** (4 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-training", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("bn1d-training")

# %% [markdown]
# **Training mode: what it remembers** (4 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-running", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("bn1d-running")

# %% [markdown]
# Your predictions and your layer. If they differ, one of the two is wrong: find out which before you go on.

# %% nbgrader={"grade": false, "grade_id": "compare-predictions", "locked": true, "schema_version": 3, "solution": false, "task": false}
fresh = BatchNorm1d(1)
answer = fresh(torch.tensor([[1.0], [3.0], [5.0], [7.0]]))
print("                predicted  computed")
print(f"first output    {predicted_output!s:>9.7}  {answer[0, 0].item():8.4f}")
print(f"running_mean    {predicted_running_mean!s:>9.7}  {fresh.running_mean.item():8.4f}")
print(f"running_var     {predicted_running_var!s:>9.7}  {fresh.running_var.item():8.4f}")

# %% [markdown]
# **Evaluation mode** (4 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-evaluation", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("bn1d-evaluation")

# %% [markdown]
# **Sequences `(N, C, L)`** (3 points). A batch of 4 sequences with 3 channels and 10 positions has 40 values per channel,
# not 4 and not 10. `weight`, `bias` and the buffers still have one number per channel.

# %% nbgrader={"grade": true, "grade_id": "bn1d-ncl", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bn1d-ncl")

# %% [markdown]
# **Options: `affine=False`, `track_running_stats=False`, `momentum=None`** (4 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-options", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("bn1d-options")

# %% [markdown]
# **Errors** (2 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-errors", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("bn1d-errors")

# %% [markdown]
# **Gradients by autograd, both modes, anything frozen** (4 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-gradients", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("bn1d-gradients")

# %% [markdown]
# **Numerics: float32, float64, strided inputs, a large mean, `x` left alone** (3 points)

# %% nbgrader={"grade": true, "grade_id": "bn1d-numerics", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bn1d-numerics")

# %% [markdown]
# > **What the first version of this lab got wrong**
# >
# > This course grew out of an older lab on the same layer. It printed a layer and one test, and said "working". Each
# > of its faults is now one of the checks that you have just passed.
# >
# > 1. **Its test could hardly fail.** It drew `x = torch.randn(32, 10)` and asked that `layer(x).mean().abs() < 0.1`. Such an
# >    `x` has a mean near 0 before anybody normalizes it. The next cell counts how often layers pass that do
# >    nothing, or half of the work. *A test earns trust by the wrong answers that it rejects.*
# > 2. **Momentum the wrong way round.** It had `momentum=0.9` with `running = momentum * running + ...`, the weight of
# >    the old value. With PyTorch's meaning, 0.9 leaves almost nothing but the last batch. The next cell shows how much
# >    more the running mean then shakes.
# > 3. **One variance for two uses.** It stored the biased variance. All outputs in training mode are right to the last
# >    digit, so no test of training mode can see it. In evaluation mode they are too large by $\sqrt{m/(m-1)}$.
# >    (It is a convention: Keras and Flax do store the biased one. What you load into PyTorch must follow PyTorch.)
# > 4. **Right by accident.** It wrote `self.running_mean.data = ...`. Only `.data` kept the graph out. Leave out those five
# >    characters and the buffer drags every earlier step along, until the second `backward()` stops with "Trying
# >    to backward through the graph a second time". `torch.no_grad()` and an in-place update say what is meant.
# > 5. **It did not run.** All indentation was lost in print.


# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "first-version", "locked": true, "schema_version": 3, "solution": false, "task": false}
def first_version_test(layer, seed):
    """The only number that the first version looked at."""
    x = torch.randn(32, 10, generator=torch.Generator().manual_seed(seed))
    return layer(x).mean().abs() < 0.1


suspects = {
    "does nothing": lambda x: x,
    "removes the mean, leaves the variance": lambda x: x - x.mean(0),
    "answers 0 to everything": lambda x: 0 * x,
}
print("1. How often does the old test pass, in 1000 draws?")
for name, layer in suspects.items():
    passed = sum(bool(first_version_test(layer, seed)) for seed in range(1000))
    print(f"   {name:38s} {passed / 10:5.1f} %")

print("2. How much does running_mean shake (batches of 8, true mean 0, true std 1)?")
for momentum in (0.1, 0.9):
    layer, path = BatchNorm1d(1, momentum=momentum), []
    draws = torch.Generator().manual_seed(0)
    for _ in range(1000):
        layer(torch.randn(8, 1, generator=draws))
        path.append(layer.running_mean.item())
    measured = torch.tensor(path[100:]).std().item()
    theory = (momentum / (2 - momentum) / 8) ** 0.5
    print(f"   momentum {momentum}: std {measured:.3f}, by the formula {theory:.3f}")

print("3. How much too large are evaluated outputs when the biased variance is stored?")
print("   " + ", ".join(f"m = {m}: {100 * ((m / (m - 1)) ** 0.5 - 1):.1f} %" for m in (2, 4, 32)))

# %% [markdown]
# ## 4. `BatchNorm2d` (22 points)
#
# `BatchNorm2d(num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True)` is the same layer for images:
# an `nn.Module` whose input is `(N, C, H, W)`. The set of a channel is every sample and every pixel,
# $m = N H W$. **Everything said about `BatchNorm1d` holds**, with these shapes:
#
# - the same parameters and buffers, all of shape `(C,)` (and `()` for the count), and a `state_dict` that can be loaded
#   from and into `torch.nn.BatchNorm2d`, strictly;
# - the same modes, momentum, options, gradients, dtypes. Strided inputs include images in "channels last" memory;
# - `ValueError` for any rank but 4, for a wrong $C$, and for one value per channel where batch statistics are used.
#   `(1, C, 2, 1)` has two values and is fine; `(1, C, 1, 1)` has one.
#
# A trap: `x.reshape(-1, C)` runs without complaint and mixes the channels. Why?


# %% nbgrader={"grade": false, "grade_id": "solve-bn2d", "locked": false, "schema_version": 3, "solution": true, "task": false}
class BatchNorm2d(nn.Module):
    """Batch normalization of (N, C, H, W), each channel over samples and pixels."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        ### BEGIN SOLUTION
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        track = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features) if track else None)
        self.register_buffer("running_var", torch.ones(num_features) if track else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0) if track else None)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        if x.dim() != 4 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (N, {self.num_features}, H, W), got {tuple(x.shape)}")
        n, c, h, w = x.shape
        m = n * h * w
        per_channel = (1, c, 1, 1)
        if self.training or self.running_mean is None:
            if m == 1:
                raise ValueError(f"one value per channel has no variance; got {tuple(x.shape)}")
            mean = x.sum(dim=(0, 2, 3)) / m  # (C,)
            centred = x - mean.view(per_channel)  # (N, C, H, W)
            var = (centred**2).sum(dim=(0, 2, 3)) / m  # (C,)
            if self.running_mean is not None:
                with torch.no_grad():
                    self.num_batches_tracked.add_(1)
                    count = self.num_batches_tracked.item()
                    share = 1 / count if self.momentum is None else self.momentum
                    self.running_mean.mul_(1 - share).add_(share * mean)
                    self.running_var.mul_(1 - share).add_(share * var * m / (m - 1))
        else:
            centred = x - self.running_mean.view(per_channel)
            var = self.running_var
        y = centred * torch.rsqrt(var + self.eps).view(per_channel)  # (N, C, H, W)
        if self.weight is None:
            return y
        return y * self.weight.view(per_channel) + self.bias.view(per_channel)
        ### END SOLUTION


# %% [markdown]
# **Constructor, names, `state_dict`** (2 points), **training mode** (4 points), **what it remembers** (3 points),
# **evaluation mode** (3 points)

# %% nbgrader={"grade": true, "grade_id": "bn2d-interface", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("bn2d-interface")

# %% nbgrader={"grade": true, "grade_id": "bn2d-training", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("bn2d-training")

# %% nbgrader={"grade": true, "grade_id": "bn2d-running", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bn2d-running")

# %% nbgrader={"grade": true, "grade_id": "bn2d-evaluation", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bn2d-evaluation")

# %% [markdown]
# **Options** (3 points), **errors** (2 points), **gradients** (3 points), **numerics** (2 points)

# %% nbgrader={"grade": true, "grade_id": "bn2d-options", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bn2d-options")

# %% nbgrader={"grade": true, "grade_id": "bn2d-errors", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("bn2d-errors")

# %% nbgrader={"grade": true, "grade_id": "bn2d-gradients", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bn2d-gradients")

# %% nbgrader={"grade": true, "grade_id": "bn2d-numerics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("bn2d-numerics")

# %% [markdown]
# ## 5. The backward pass by hand (17 points)
#
# So far autograd did the work. Now you do it, for `(N, C)` in training mode. Let $\ell$ be a loss, and let
# `grad_out` be $dy = \partial \ell / \partial y$, of shape `(N, C)`. Column by column, with $N$ values, the forward pass is this graph:
#
# $$
# \begin{aligned}
# x &\to \mu, & (x, \mu) &\to v = \tfrac1N \textstyle\sum_i (x_i - \mu)^2, \\
# (x, \mu, v) &\to \hat x, & \hat x &\to y = \gamma \hat x + \beta .
# \end{aligned}
# $$
#
# Go through it from the end. A number that is used in several places collects a gradient from each.
#
# ### Every intermediate (7 points)
#
# `backward_steps(grad_out, x, weight, eps)` returns a dictionary with these seven keys:
#
# | key | shape | what |
# |---|---|---|
# | `"mean"` | `(C,)` | $\mu$ |
# | `"var"` | `(C,)` | the biased variance $v$ |
# | `"x_hat"` | `(N, C)` | $\hat x$ |
# | `"grad_x_hat"` | `(N, C)` | $\partial \ell / \partial \hat x$ |
# | `"grad_var"` | `(C,)` | $\partial \ell / \partial v$: $v$ stands in every $\hat x_i$ of its column, so a sum |
# | `"grad_mean"` | `(C,)` | $\partial \ell / \partial \mu$, **total**: directly through every $\hat x_i$, and through $v$, which is a function of $x$ and $\mu$ |
# | `"grad_x"` | `(N, C)` | $\partial \ell / \partial x$: three paths, directly through $\hat x$, through $v$, through $\mu$ |
#
# One of the terms of `grad_mean` is zero on paper, because $\sum_i (x_i - \mu) = 0$. Keep it or leave it out.
# You need $\partial \hat x_i / \partial v = -\tfrac12 (x_i - \mu)(v + \varepsilon)^{-3/2}$.
#
# The derivation, if you are stuck: [Mathematical Formulation](../../book/mathematical-formulation.md), the sections "The
# backward pass, once for all" and "Batch norm backward".


# %% nbgrader={"grade": false, "grade_id": "solve-backward-steps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backward_steps(grad_out, x, weight, eps):
    """Return every intermediate of the backward pass; grad_out, x (N, C); weight (C,)."""
    ### BEGIN SOLUTION
    n = len(x)
    mean, var = batch_statistics(x)
    x_hat = normalize(x, mean, var, eps)
    centred = x - mean
    root = torch.sqrt(var + eps)
    grad_x_hat = grad_out * weight
    grad_var = (grad_x_hat * centred).sum(dim=0) * (-0.5) * root**-3
    grad_mean = -grad_x_hat.sum(dim=0) / root + grad_var * (-2 / n) * centred.sum(dim=0)
    grad_x = grad_x_hat / root + grad_var * (2 / n) * centred + grad_mean / n
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


# %% nbgrader={"grade": true, "grade_id": "backward-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("backward-mean")

# %% nbgrader={"grade": true, "grade_id": "backward-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("backward-var")

# %% nbgrader={"grade": true, "grade_id": "backward-x-hat", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("backward-x-hat")

# %% nbgrader={"grade": true, "grade_id": "backward-grad-x-hat", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("backward-grad-x-hat")

# %% nbgrader={"grade": true, "grade_id": "backward-grad-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("backward-grad-var")

# %% nbgrader={"grade": true, "grade_id": "backward-grad-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("backward-grad-mean")

# %% nbgrader={"grade": true, "grade_id": "backward-grad-x", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("backward-grad-x")

# %% [markdown]
# ### In one formula (10 points)
#
# Put the three paths together on paper. Most of it cancels, and two means over the batch remain.
#
# `batch_norm_backward(grad_out, x, weight, eps=1e-5)` returns a tuple `(grad_x, grad_weight, grad_bias)`:
#
# - `grad_out`, `x`: `(N, C)` with $N \ge 2$; `weight`: `(C,)`. It may be called by position and by keyword;
# - `grad_x`: `(N, C)`, the gradient of the loss with respect to `x` in **training mode**;
# - `grad_weight`, `grad_bias`: `(C,)`, **sums** over the batch, not means; the dtype of all three is that of `x`;
# - **no autograd** in it: no `torch.autograd`, no `.backward()`, no call of a layer of which PyTorch takes the gradient;
# - its **arguments stay unchanged**;
# - right for small variances and a large `eps`, in float64 and float32, for strided inputs, and for a constant column.
#
# You may call `backward_steps`. A shorter way needs neither `grad_var` nor `grad_mean`.


# %% nbgrader={"grade": false, "grade_id": "solve-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    """Return (grad_x, grad_weight, grad_bias) in training mode; grad_out, x (N, C); weight (C,)."""
    ### BEGIN SOLUTION
    mean, var = batch_statistics(x)
    x_hat = normalize(x, mean, var, eps)
    grad_bias = grad_out.sum(dim=0)
    grad_weight = (grad_out * x_hat).sum(dim=0)
    kept = grad_out - grad_out.mean(dim=0) - x_hat * (grad_out * x_hat).mean(dim=0)
    return weight * kept / torch.sqrt(var + eps), grad_weight, grad_bias
    ### END SOLUTION


# %% [markdown]
# **`grad_x`** (4 points), **`grad_weight` and `grad_bias`** (3 points), **numerics and manners** (3 points)

# %% nbgrader={"grade": true, "grade_id": "bnb-input", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("bnb-input")

# %% nbgrader={"grade": true, "grade_id": "bnb-parameters", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bnb-parameters")

# %% nbgrader={"grade": true, "grade_id": "bnb-numerics", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("bnb-numerics")

# %% [markdown]
# ## 6. The experiment: who else is in the batch?
#
# Your layer is now good enough to do science with. The question from the top, made precise **before** anything runs:
#
# 1. Train small networks with batches of 2, 4, 8, 16, 32 and 64 images. Measure each on the test images twice: with batch
#    statistics, in batches of the size it was trained with, and in evaluation mode. **How large is the gap between the
#    two, and how does it depend on the batch size?**
# 2. Take one test image, and one network. Put it into batches with random other test images. **How far does the
#    probability of its true class move?**
#
# What is held fixed: 300 updates for every batch size, one learning rate, the same weights at the start. So a network with
# batches of 2 sees 600 images, and one with batches of 64 sees 19 200. Small batches would do worse for that reason alone.
# Therefore a **control** runs along: the same network without normalization, on the same batches. Only what the control
# does not show can be blamed on batch normalization.
#
# Say now what you expect: at which batch size is the gap between the two modes larger than 5 percentage points? What
# would you have to see to give up your explanation?
#
# The data are the 1797 handwritten digits of scikit-learn, 8 x 8 pixels. All of it takes 10 to 30 seconds.

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-networks", "locked": true, "schema_version": 3, "solution": false, "task": false}
import copy
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

BATCH_SIZES, UPDATES, RATE, SEEDS, BUDGET_S = (2, 4, 8, 16, 32, 64), 300, 0.02, 5, 40

pixels, classes = load_digits(return_X_y=True)
order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(0))
images, classes = torch.tensor(pixels, dtype=torch.float32)[order], torch.tensor(classes)[order]
train_images, train_classes = images[:1347], classes[:1347]
test_images, test_classes = images[1347:], classes[1347:]
mean, std = train_images.mean(), train_images.std()  # of the training part only
train_images, test_images = (train_images - mean) / std, (test_images - mean) / std


def network(seed, normalized):
    """Two hidden layers of 64 units; one seed gives the same weights with and without your layer."""
    torch.manual_seed(seed)
    linear = [nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)]
    norms = [BatchNorm1d(64) if normalized else nn.Identity() for _ in range(2)]
    return nn.Sequential(linear[0], norms[0], nn.ReLU(), linear[1], norms[1], nn.ReLU(), linear[2])


def train(model, batch_size, seed):
    """Do UPDATES steps of SGD with momentum; the same seed draws the same batches."""
    draws = torch.Generator().manual_seed(1000 + seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    for _ in range(UPDATES):
        batch = torch.randperm(len(train_images), generator=draws)[:batch_size]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train_images[batch]), train_classes[batch]).backward()
        optimizer.step()
    return model


@torch.no_grad()
def error_on_test(model, batch_size=None):
    """Return the test error in %: in evaluation mode, or with the statistics of batches of a size."""
    model = copy.deepcopy(model)  # training mode would move the running statistics
    model.train(batch_size is not None)
    shuffled = torch.randperm(len(test_images), generator=torch.Generator().manual_seed(0))
    batches = shuffled.split(batch_size or len(shuffled))
    batches = [b for b in batches if len(b) == len(batches[0])]  # no smaller one at the end
    wrong = sum((model(test_images[b]).argmax(1) != test_classes[b]).sum().item() for b in batches)
    return 100 * wrong / sum(len(b) for b in batches)


results, witness, started = {size: [] for size in BATCH_SIZES}, None, time.thread_time()
for seed in range(SEEDS):
    this_seed = {}
    for size in BATCH_SIZES:
        if time.thread_time() - started > BUDGET_S:
            break
        with_norm = train(network(seed, True), size, seed)
        without = train(network(seed, False), size, seed)
        this_seed[size] = (
            error_on_test(with_norm, size),
            error_on_test(with_norm),
            error_on_test(without),
        )
        witness = with_norm if (seed, size) == (0, 32) else witness
    if len(this_seed) < len(BATCH_SIZES):
        print(f"Stopped after {BUDGET_S} s of CPU time: {seed} of {SEEDS} seeds are complete; only those count.")
        break
    for size in BATCH_SIZES:
        results[size].append(this_seed[size])
if not results[2]:
    raise RuntimeError(f"No seed was complete in {BUDGET_S} s of CPU time; does your layer loop over samples?")

table = {size: torch.tensor(rows) for size, rows in results.items()}  # (seeds, 3)
print(f"Test error in %, mean +- standard deviation of {len(results[2])} seeds")
print("batch size   batch statistics   evaluation mode   no normalization")
for size, rows in table.items():
    cells = [f"{m:5.1f} +- {s:4.1f}" for m, s in zip(rows.mean(0), rows.std(0), strict=True)]
    print(f"{size:10d}      {cells[0]}      {cells[1]}       {cells[2]}")


# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
@torch.no_grad()
def true_class_probability(model, image, companions):
    """Return the probability of an image's true class when these others share its batch."""
    logits = model(test_images[torch.tensor([image, *companions])])[0]
    return torch.softmax(logits, 0)[test_classes[image]].item()


if witness is None:
    raise RuntimeError("There is no trained network yet: the cell above must run to its end first.")

IMAGE, DRAWS = 0, 60  # the first test image, whichever it is
draws = torch.Generator().manual_seed(0)
moving = copy.deepcopy(witness).train()


def companions(count):
    """Draw other test images."""
    others = [k for k in range(len(test_images)) if k != IMAGE]
    return [others[k] for k in torch.randperm(len(others), generator=draws)[:count]]


spread = {
    size: [true_class_probability(moving, IMAGE, companions(size - 1)) for _ in range(DRAWS)] for size in BATCH_SIZES
}
still = true_class_probability(copy.deepcopy(witness).eval(), IMAGE, [])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
styles = [
    ("#c1440e", "o", "batch statistics"),
    ("#1f5fa8", "s", "evaluation mode"),
    ("#707070", "^", "no normalization (control)"),
]
for k, (colour, marker, label) in enumerate(styles):
    centre = [rows[:, k].mean().item() for rows in table.values()]
    bar = [rows[:, k].std().item() for rows in table.values()]
    place = [size * 1.06 ** (k - 1) for size in BATCH_SIZES]  # side by side: no bar hides another
    left.errorbar(place, centre, yerr=bar, color=colour, marker=marker, capsize=3, label=label)
left.set(xlabel="batch size, in training and in measuring", ylabel="test error (%)", ylim=(0, None))
left.set_title(f"Same {UPDATES} updates for every batch size")
left.legend(frameon=False)
for size, values in spread.items():
    shift = 1.12 ** (torch.rand(DRAWS, generator=draws) * 2 - 1)
    right.scatter(size * shift, values, s=14, color="#c1440e", alpha=0.6, linewidths=0)
right.axhline(still, color="#1f5fa8", label="evaluation mode, any batch")
right.scatter([], [], s=14, color="#c1440e", label=f"batch statistics, {DRAWS} random batches")
right.set(xlabel="size of the batch that the image sits in", ylabel="probability of its true class")
right.set(ylim=(-0.25, 1.03), yticks=[0, 0.25, 0.5, 0.75, 1])  # room for the legend below 0
right.set_title("One test image, one network")
right.legend(frameon=False, loc="lower right")
for panel in (left, right):
    panel.set_xscale("log", base=2)
    panel.set_xticks(BATCH_SIZES, [str(size) for size in BATCH_SIZES])
plt.show()

print(f"One test image, evaluation mode: p = {still:.4f}")
for size, values in spread.items():
    print(f"in batches of {size:2d}: from {min(values):.4f} to {max(values):.4f}")

# %% [markdown]
# **Read it with care.** The bars are standard deviations over seeds of one small network on one small data set. The
# learning rate is the same for all batch sizes and tuned for none. The grey line says how much of the left end is
# merely "too little data, too noisy gradients". What your own run shows is the evidence; if it disagrees with what you
# read elsewhere, write what you see.

# %% [markdown]
# ## 7. A written answer (6 points, graded by a person)
#
# In about 150 words, with numbers from **your** table and figure:
#
# **(a)** At which batch sizes does batch normalization cost something that the control does not explain, and how far do the
# two modes lie apart at the smallest and at the largest size?
# **(b)** Why does the gap depend on the batch size? Argue from the formulas: which two numbers does each mode put in the
# places of $\mu$ and $v$, and how noisy are they?
# **(c)** A colleague reports the error of a network in training mode with batches of 64, and then serves users one image at a
# time. What happens when the service runs in training mode, what in evaluation mode, and what should the colleague
# have reported?
#
# How it is graded, two points for each part:
#
# | | 2 points | 1 point | 0 points |
# |---|---|---|---|
# | (a) | names sizes, uses the control, gives both gaps as numbers | numbers without the control, or the control without numbers | no numbers of the run |
# | (b) | batch statistics of $m$ values against an average over many batches, and that the noise of the first falls as $m$ grows | only one of the two | neither |
# | (c) | `ValueError` (one value per channel) in training mode, a sound answer in evaluation mode, and the evaluation-mode error as the number to report | two of the three | fewer |

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-answer", "locked": false, "points": 6, "schema_version": 3, "solution": true, "task": false}
# (a) With batches of 2, 4 and 8 the network that uses batch statistics errs far more than the control on the same
# batches: 74 against 42 %, 29 against 12 %, 11 against 6 % (my run, 5 seeds). In evaluation mode the same networks are
# about as good as the control (52 +- 12 at size 2, where the bars overlap; 13 at 4; 5 at 8) and better from 16 up. The
# gap between the two modes is 22 points at size 2 and 0.4 at size 64.
#
# (b) With batch statistics, mu and v are estimates from m = 2 to 64 values, drawn anew with each batch; their error
# falls as 1/sqrt(m), and at m = 2 x_hat is little more than a sign. Evaluation mode puts in the running averages,
# which pool about the last ten batches (momentum 0.1) and do not move. So the first is noisy where m is small, and both
# approach the same population values as m grows. The right panel shows that noise for one image: p from 0.00 to
# 0.96 in batches of 2, from 0.88 to 1.00 in batches of 64.
#
# (c) In training mode one image is one value per channel: ValueError. In evaluation mode the answer is sound and
# does not depend on other users. The number to report was the error in evaluation mode, since that is what will run.

# %% [markdown]
# ## 8. Stretch (no points)
#
# **A silent wrong gradient in PyTorch.** Take `torch.nn.BatchNorm1d(3)`. Call it in evaluation mode on an `x` that requires a
# gradient and keep the output `y`. Call the layer in training mode on another batch. Only now go backwards from `y`.
# In evaluation mode the gradient of `y.sum()` is known: it is $\gamma / \sqrt{r_v + \varepsilon}$ with the $r_v$ **of the
# forward pass**. Compare. No error is raised; why does PyTorch not notice? Does your own layer pass?
#
# **Half precision.** Let `x = (300 * torch.randn(64, 3)).half()`. What is the largest number that float16 can hold, and what
# is 300 squared? Make your layer accept float16 and bfloat16, with statistics in float32 and an output in the dtype of
# `x`. Compare with float64.

# %%
# Your own trials go here.
