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
# # Lab 6: Beyond Batch Normalization
#
# **The question.** Batch normalization is two functions in one layer. In training it divides by the spread of the batch at
# hand, in evaluation by a spread that it remembers. The network is trained as the one and used as the other. Why do
# the two disagree, and can a **training** forward be made to agree with evaluation, without losing what made batch
# normalization work?
#
# You build two answers. Batch renormalization keeps the batch and corrects it. Weight normalization lets go of the batch
# altogether and normalizes the weights.
#
# **When you are done you can**
#
# 1. say what $r$ and $d$ correct, and for which limits the corrected output is that of batch norm or that of evaluation;
# 2. say why $r$ and $d$ are clipped, and why no gradient may flow through them;
# 3. separate the length of a weight vector from its direction, and derive the gradient of each by hand;
# 4. tell from a figure what the correction is worth for batches of 2, and what it is worth for batches of 32.
#
# **Time:** 60 to 90 minutes. **Points:** 73, of which 67 are given by the machine and 6 by a person.
#
# **Read with it:** the chapters [Advanced Theory](../../book/advanced-theory.md) and
# [Mathematical Formulation](../../book/mathematical-formulation.md) of the course book.
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
# - What is asked is written here in full. Where this text says nothing, the layers of `torch.nn` are the example.
#
# **What may not do the work.** PyTorch's own normalization: `nn.BatchNorm1d`, `F.batch_norm`, `nn.LayerNorm`,
# `torch.nn.utils.weight_norm`, `torch.nn.utils.parametrizations.weight_norm`, `torch._weight_norm` and their
# relatives. Do not call them in your solutions, and do not inherit from them. The grader looks at the operators that
# run and at the source; an exercise that uses one loses its points, and the report says so. In cells of your own, compare
# with them as much as you like.
#
# **What is welcome.** Any honest style: loops or none, `torch.var_mean`, `einops`, your own `autograd.Function`,
# `torch.clamp` or `torch.minimum`, `torch.linalg.vector_norm`, `F.normalize`, `F.linear`, float32 inside for float64
# inputs, other names inside your functions, prints. A buffer may be changed in place or rebound. The layers may use
# the functions of the first steps. Mind the price: a fault in a function that two exercises share can cost points in
# both.
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
# ## 1. Two functions in one layer
#
# Take one channel with the values $x_1, \dots, x_m$ of a batch, and let
#
# $$
# \mu_B = \frac1m \sum_i x_i, \qquad \sigma_B = \sqrt{\frac1m \sum_i (x_i - \mu_B)^2 + \varepsilon} .
# $$
#
# The variance is the **biased** one, and $\varepsilon$ (`eps`) stands under the root: $\sigma_B$ holds it from here on. The
# layer remembers $\mu$ (`running_mean`, starts at 0) and $\sigma$ (`running_std`, starts at 1): a standard **deviation**,
# where batch norm remembers a variance. Then
#
# $$
# \text{batch norm, training: } \frac{x_i - \mu_B}{\sigma_B}, \qquad
# \text{evaluation: } \frac{x_i - \mu}{\sigma} .
# $$
#
# With a little algebra the second can be written by means of the first:
#
# $$
# \frac{x_i - \mu}{\sigma} = \frac{x_i - \mu_B}{\sigma_B} \cdot r + d, \qquad
# r = \frac{\sigma_B}{\sigma}, \quad d = \frac{\mu_B - \mu}{\sigma} .
# $$
#
# So two numbers per channel, $r$ and $d$, are all that lies between the two modes. Batch renormalization (Ioffe, 2017) puts
# them into the training forward:
#
# $$
# \hat x_i = \frac{x_i - \mu_B}{\sigma_B} \cdot r + d, \qquad y_i = \gamma\, \hat x_i + \beta,
# $$
#
# with two precautions. They are **clipped**, $r$ to $[1/r_{\max}, r_{\max}]$ and $d$ to $[-d_{\max}, d_{\max}]$, because early in
# training the remembered values are worth little. And they are **constants for the gradient**: backward, the layer
# still knows that $\mu_B$ and $\sigma_B$ depend on $x$, and that is what tames the gradients of batch norm.
#
# ### Predict first (3 points)
#
# A `BatchRenorm1d(1)` with its defaults (`r_max=3`, `d_max=5`, and an `eps` too small to matter) remembers
# $\mu = 2$ and $\sigma = 2$. In training mode it is called with the column $x = (1, 3, 5, 7)$. Its weight is 1 and its
# bias 0. With pencil and paper:
#
# - `predicted_r` and `predicted_d`: the two corrections for this batch;
# - `predicted_output`: the **first** number that comes out (the one for $x_1 = 1$).
#
# Each is one number, right to two decimals. The checks only note what you say; your own layer will answer below.

# %% nbgrader={"grade": false, "grade_id": "solve-predictions", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_r = None
predicted_d = None
predicted_output = None
### BEGIN SOLUTION
predicted_r = 5**0.5 / 2  # mu_B = 4, the biased variance is (9 + 1 + 1 + 9) / 4 = 5
predicted_d = (4 - 2) / 2
predicted_output = (1 - 2) / 2  # nothing is clipped, so it is what evaluation gives
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "brn-predict-r", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("brn-predict-r")

# %% nbgrader={"grade": true, "grade_id": "brn-predict-d", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("brn-predict-d")

# %% nbgrader={"grade": true, "grade_id": "brn-predict-output", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("brn-predict-output")

# %% [markdown]
# ## 2. The steps (10 points)
#
# ### The statistics of a batch (2 points)
#
# `batch_statistics(x, eps)` takes `x` of shape `(N, C)` and returns `(mean, sigma)`, each of shape `(C,)`: $\mu_B$ and
# $\sigma_B$ as defined above, with the **biased** variance and `eps` **under the root**. The checks use `eps=0.5`, where every
# other place shows. Compute the variance from the differences `x - mean`.


# %% nbgrader={"grade": false, "grade_id": "solve-statistics", "locked": false, "schema_version": 3, "solution": true, "task": false}
def batch_statistics(x, eps):
    """Return mean and sigma = sqrt(biased variance + eps) of each column: x (N, C) -> (C,), (C,)."""
    ### BEGIN SOLUTION
    mean = x.mean(dim=0)  # (C,)
    var = ((x - mean) ** 2).mean(dim=0)  # (C,)
    return mean, torch.sqrt(var + eps)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "brn-step-statistics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("brn-step-statistics")

# %% [markdown]
# ### The correction (3 points)
#
# `correction(mean, sigma, running_mean, running_std, r_max, d_max)` returns `(r, d)`, each of shape `(C,)`, as are the first
# four arguments: $r = \sigma_B / \sigma$ clipped to $[1/r_{\max}, r_{\max}]$ and $d = (\mu_B - \mu) / \sigma$ clipped to
# $[-d_{\max}, d_{\max}]$. `r_max` (at least 1) and `d_max` (at least 0) are numbers. $r$ is a factor, so its limits are a factor
# up and the same factor down; $d$ is a shift, so its limits are a step to either side.


# %% nbgrader={"grade": false, "grade_id": "solve-correction", "locked": false, "schema_version": 3, "solution": true, "task": false}
def correction(mean, sigma, running_mean, running_std, r_max, d_max):
    """Return r and d, clipped; all tensors (C,)."""
    ### BEGIN SOLUTION
    r = torch.clamp(sigma / running_std, 1 / r_max, r_max)
    d = torch.clamp((mean - running_mean) / running_std, -d_max, d_max)
    return r, d
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "brn-step-correction", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("brn-step-correction")

# %% [markdown]
# ### The corrected value (2 points)
#
# `corrected(x, mean, sigma, r, d)` returns $\hat x = (x - \mu_B) / \sigma_B \cdot r + d$ of shape `(N, C)`, from `x` `(N, C)` and
# four tensors `(C,)`. It does not care where $r$ and $d$ come from.


# %% nbgrader={"grade": false, "grade_id": "solve-corrected", "locked": false, "schema_version": 3, "solution": true, "task": false}
def corrected(x, mean, sigma, r, d):
    """Return (x - mean) / sigma * r + d: x (N, C); the others (C,) -> (N, C)."""
    ### BEGIN SOLUTION
    return (x - mean) / sigma * r + d
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "brn-step-output", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("brn-step-output")

# %% [markdown]
# ### Remember (2 points)
#
# `updated_running(running_mean, running_std, mean, sigma, momentum)` returns the two new running values, each `(C,)`:
#
# $$
# \mu \leftarrow \mu + \alpha (\mu_B - \mu), \qquad \sigma \leftarrow \sigma + \alpha (\sigma_B - \sigma) .
# $$
#
# $\alpha$ is `momentum`, from 0 to 1, the **weight of the new value**. What is remembered is $\sigma_B$ **itself**: no
# unbiased variance, no square, `eps` inside. So a batch like all others has $r = 1$ exactly.


# %% nbgrader={"grade": false, "grade_id": "solve-running", "locked": false, "schema_version": 3, "solution": true, "task": false}
def updated_running(running_mean, running_std, mean, sigma, momentum):
    """Return both running values after a batch; all tensors (C,)."""
    ### BEGIN SOLUTION
    new_mean = running_mean + momentum * (mean - running_mean)
    new_std = running_std + momentum * (sigma - running_std)
    return new_mean, new_std
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "brn-step-running", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("brn-step-running")

# %% [markdown]
# ### Evaluate (1 point)
#
# `evaluated(x, running_mean, running_std)` returns $(x - \mu) / \sigma$ of shape `(N, C)`. There is no `eps` in it: where is
# it?


# %% nbgrader={"grade": false, "grade_id": "solve-evaluated", "locked": false, "schema_version": 3, "solution": true, "task": false}
def evaluated(x, running_mean, running_std):
    """Return what evaluation mode gives before weight and bias: x (N, C); the others (C,) -> (N, C)."""
    ### BEGIN SOLUTION
    return (x - running_mean) / running_std
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "brn-step-evaluation", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("brn-step-evaluation")

# %% [markdown]
# ## 3. Two equalities (4 points)
#
# The two limits turn one knob between two layers that you know. Find both ends.
#
# **Batch norm's end** (1 point). `as_batch_norm(x, running_mean, running_std, eps)` returns the $\hat x$ `(N, C)` of the
# corrected forward under limits that **you** choose, such that it equals batch norm's $(x - \mu_B) / \sigma_B$ whatever is
# remembered. Write it with the functions above, not with batch norm's formula; two numbers are all there is to find.


# %% nbgrader={"grade": false, "grade_id": "solve-as-batch-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def as_batch_norm(x, running_mean, running_std, eps):
    """Return the corrected x_hat under the limits that leave batch norm: x (N, C); the others (C,)."""
    ### BEGIN SOLUTION
    mean, sigma = batch_statistics(x, eps)
    r, d = correction(mean, sigma, running_mean, running_std, r_max=1.0, d_max=0.0)
    return corrected(x, mean, sigma, r, d)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "brn-equal-batch-norm", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("brn-equal-batch-norm")

# %% [markdown]
# **Evaluation's end** (3 points). `limits_for_evaluation(x, running_mean, running_std, eps)` returns `(r_max, d_max)`, two
# numbers: the **smallest** limits under which **nothing is clipped in any channel** of this batch, so that the training forward
# gives what evaluation gives. (`r_max` is at least 1 and `d_max` at least 0, by their meaning. A narrow batch needs
# limits as much as a wide one.) Python numbers or tensors of one number, as you like.


# %% nbgrader={"grade": false, "grade_id": "solve-limits", "locked": false, "schema_version": 3, "solution": true, "task": false}
def limits_for_evaluation(x, running_mean, running_std, eps):
    """Return the smallest r_max and d_max that clip nothing: x (N, C); running_mean, running_std (C,)."""
    ### BEGIN SOLUTION
    mean, sigma = batch_statistics(x, eps)
    ratio = sigma / running_std  # (C,)
    shift = (mean - running_mean) / running_std  # (C,)
    return torch.maximum(ratio, 1 / ratio).max().item(), shift.abs().max().item()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "brn-equal-evaluation", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("brn-equal-evaluation")

# %% [markdown]
# Both equalities on one batch, and what lies between: as the limits open, the training output moves from batch norm to
# evaluation.

# %% nbgrader={"grade": false, "grade_id": "see-the-equalities", "locked": true, "schema_version": 3, "solution": false, "task": false}
draws = torch.Generator().manual_seed(6)
x = 2 + 3 * torch.randn(8, 4, generator=draws, dtype=torch.float64)
remembered = (torch.ones(4, dtype=torch.float64), torch.full((4,), 2.0, dtype=torch.float64))
mean, sigma = batch_statistics(x, 1e-5)
most_r, most_d = (float(limit) for limit in limits_for_evaluation(x, *remembered, 1e-5))
print(f"nothing is clipped from r_max = {most_r:.3f} and d_max = {most_d:.3f} on")
print("share of these limits   distance to batch norm   distance to evaluation")
for share in (0.0, 0.25, 0.5, 0.75, 1.0):
    r, d = correction(mean, sigma, *remembered, 1 + share * (most_r - 1), share * most_d)
    x_hat = corrected(x, mean, sigma, r, d)
    to_batch_norm = (x_hat - (x - mean) / sigma).abs().max().item()
    to_evaluation = (x_hat - evaluated(x, *remembered)).abs().max().item()
    print(f"{share:21.2f}   {to_batch_norm:22.2e}   {to_evaluation:22.2e}")

# %% [markdown]
# ## 4. `BatchRenorm1d` (29 points)
#
# `BatchRenorm1d(num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0)` is an `nn.Module`.
#
# **What it keeps.** With $C$ = `num_features`:
#
# | name | kind | shape | start |
# |---|---|---|---|
# | `weight` | parameter | `(C,)` | 1 |
# | `bias` | parameter | `(C,)` | 0 |
# | `running_mean` | buffer | `(C,)` | 0 |
# | `running_std` | buffer | `(C,)` | 1 |
#
# Nothing else stands in `state_dict()`: no count of batches, no limits. `r_max` and `d_max` are plain attributes, read at
# each call, so that a training loop can move them (the experiment does). Shapes and kinds stay as they are after a call. A
# saved state can be loaded strictly. The layer may be moved (`.double()`), deep-copied, and put into an
# `nn.Sequential`; hooks fire, so override `forward` and not `__call__`. Two layers share nothing.
#
# **Input.** `(N, C)` or `(N, C, L)`. The channel is **axis 1**. For `(N, C, L)` the set of a channel is every sample and
# every position, $m = N L$ values. The same layer may see one shape and then the other. The output has the shape
# and the dtype of `x`. `x` itself stays as it is.
#
# **Training mode** (`self.training` is true):
#
# 1. $\mu_B$ and $\sigma_B$ of the batch, from the biased variance, `eps` under the root;
# 2. $r$ and $d$ from the running values as they are **before** this batch moves them, clipped by `r_max` and `d_max`;
# 3. $\hat x = (x - \mu_B) / \sigma_B \cdot r + d$, and **after that** `weight` and `bias`: $y = \gamma \hat x + \beta$;
# 4. the running values move towards $\mu_B$ and $\sigma_B$, **unclipped**, with `momentum` the weight of the **new** value (0 and
#    1 are allowed). One call is one update. The update **keeps no graph**: buffers never require a gradient, and two
#    training steps in a row work.
#
# A constant channel gives finite numbers: that is what `eps` is for.
#
# **Evaluation mode:** $y = \gamma (x - \mu) / \sigma + \beta$ with the running values, which stay **untouched**. `eps` is not
# added again, $r$ and $d$ do not appear, and a single sample is fine. Whatever the running values are now counts, also when
# they were just loaded.
#
# **The mode is `self.training`**, set by `train()` and `eval()` on the layer or on a model around it. It is never
# whether gradients are enabled: training mode under `torch.no_grad()` still uses and remembers the batch.
#
# **Errors.** `ValueError`
#
# - for **one value per channel** ($m = 1$) in training mode. $m$ counts, not $N$: `(1, C, 3)` is fine;
# - for a **wrong rank** (other than 2 or 3 axes), in both modes;
# - for a **wrong $C$** (`x.shape[1]` is not `num_features`), in both modes. A size of 1 would broadcast silently; refuse it
#   too.
#
# **Gradients** flow by autograd to `x`, `weight` and `bias`, through $\mu_B$ and $\sigma_B$ of step 3. **$r$ and $d$ are
# constants:** no gradient flows through them, clipped or not. `torch.clamp` alone does not see to that: it lets the gradient
# pass wherever it does not clip. In evaluation mode the running values are constants. **Any of the three may be frozen**, that
# is, want no gradient. An evaluation between a forward pass and its backward pass disturbs nothing.
#
# **Accuracy.** float32 with a mean of 200 standard deviations must still be right to float32's honest limits.


# %% nbgrader={"grade": false, "grade_id": "solve-brn", "locked": false, "schema_version": 3, "solution": true, "task": false}
class BatchRenorm1d(nn.Module):
    """Batch renormalization of (N, C) or (N, C, L), each channel over all other axes."""

    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        ### BEGIN SOLUTION
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.r_max, self.d_max = r_max, d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        if x.dim() not in (2, 3) or x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels on axis 1 of 2 or 3, got {tuple(x.shape)}")
        last = x.movedim(1, -1)  # (N, C) or (N, L, C)
        rows = last.reshape(-1, self.num_features)  # (m, C): one row per value of a channel
        if self.training:
            if len(rows) == 1:
                raise ValueError(f"one value per channel has no spread; got {tuple(x.shape)}")
            mean, sigma = batch_statistics(rows, self.eps)  # (C,), (C,)
            with torch.no_grad():
                r, d = correction(mean, sigma, self.running_mean, self.running_std, self.r_max, self.d_max)
                new = updated_running(self.running_mean, self.running_std, mean, sigma, self.momentum)
                self.running_mean.copy_(new[0])
                self.running_std.copy_(new[1])
            x_hat = corrected(rows, mean, sigma, r, d)  # (m, C)
        else:
            x_hat = evaluated(rows, self.running_mean, self.running_std)
        y = x_hat * self.weight + self.bias
        return y.reshape(last.shape).movedim(-1, 1)
        ### END SOLUTION


# %% [markdown]
# **Constructor, names, `state_dict`** (2 points)

# %% nbgrader={"grade": true, "grade_id": "brn-interface", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("brn-interface")

# %% [markdown]
# **Training mode: the output** (4 points)

# %% nbgrader={"grade": true, "grade_id": "brn-training", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("brn-training")

# %% [markdown]
# Your predictions and your layer. If they differ, one of the two is wrong: find out which before you go on.

# %% nbgrader={"grade": false, "grade_id": "compare-predictions", "locked": true, "schema_version": 3, "solution": false, "task": false}
remembers = BatchRenorm1d(1)
with torch.no_grad():
    remembers.running_mean.fill_(2.0)
    remembers.running_std.fill_(2.0)
x = torch.tensor([[1.0], [3.0], [5.0], [7.0]])
r, d = correction(*batch_statistics(x, remembers.eps), remembers.running_mean, remembers.running_std, 3.0, 5.0)
answer = remembers(x)
print("              predicted  computed")
print(f"r             {predicted_r!s:>9.7}  {r.item():8.4f}")
print(f"d             {predicted_d!s:>9.7}  {d.item():8.4f}")
print(f"first output  {predicted_output!s:>9.7}  {answer[0, 0].item():8.4f}")

# %% [markdown]
# **Training mode: the limits** (3 points)

# %% nbgrader={"grade": true, "grade_id": "brn-clipping", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("brn-clipping")

# %% [markdown]
# **Training mode: what it remembers** (4 points)

# %% nbgrader={"grade": true, "grade_id": "brn-running", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("brn-running")

# %% [markdown]
# **Evaluation mode** (4 points)

# %% nbgrader={"grade": true, "grade_id": "brn-evaluation", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("brn-evaluation")

# %% [markdown]
# **Sequences `(N, C, L)`** (3 points)

# %% nbgrader={"grade": true, "grade_id": "brn-ncl", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("brn-ncl")

# %% [markdown]
# **Errors** (2 points)

# %% nbgrader={"grade": true, "grade_id": "brn-errors", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("brn-errors")

# %% [markdown]
# **Gradients by autograd, both modes, anything frozen** (4 points)

# %% nbgrader={"grade": true, "grade_id": "brn-gradients", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("brn-gradients")

# %% [markdown]
# **Numerics: float32, float64, strided inputs, `x` left alone** (2 points), **a large mean** (1 point)

# %% nbgrader={"grade": true, "grade_id": "brn-numerics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("brn-numerics")

# %% nbgrader={"grade": true, "grade_id": "brn-large-mean", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("brn-large-mean")

# %% [markdown]
# > **What the first version of this lab got wrong**
# >
# > There was no first version of this lab. The older course had one line each for batch renormalization ("less dependent
# > on batch statistics") and for weight normalization ("separate magnitude and direction"), and not a single test. That
# > is the first fault: *a sentence that nothing can contradict teaches nothing*. The next cell turns its claims into
# > numbers.
# >
# > 1. **"Small batch: noisy estimates; use momentum."** It recommended a longer running average against the noise of small
# >    batches. But in training mode batch norm never reads the running average. The cell changes the momentum a hundredfold;
# >    the training output does not move by one bit. What reads the average in training is $r$ and $d$, and it took
# >    another layer to put them there.
# > 2. **"Less dependent", by how much?** A claim about dependence needs a measure of it: take one sample, change its
# >    companions, and watch its output. The cell does so for your layer with three sets of limits.
# > 3. **What it left out is what matters.** No limits: without them the first batches of training are "corrected" by running
# >    values that mean nothing yet. No word on the gradient: with a gradient through $r$ and $d$ the unclipped layer is a fixed
# >    scaling, and the forward values, which are all that a simple test compares, do not show it.
# > 4. **Weight normalization stood in a list of layers that normalize activations.** It normalizes none: make
# >    the data ten times as large, and its outputs are ten times as large (you see it in section 6).


# %% nbgrader={"grade": false, "grade_id": "first-version", "locked": true, "schema_version": 3, "solution": false, "task": false}
draws = torch.Generator().manual_seed(0)
x = torch.randn(4, 3, generator=draws)
outputs = []
for momentum in (0.01, 0.1, 0.99):
    layer = BatchRenorm1d(3, momentum=momentum, r_max=1.0, d_max=0.0)  # batch norm
    layer(torch.randn(4, 3, generator=torch.Generator().manual_seed(1)))
    outputs.append(layer(x))
moved = max((y - outputs[0]).abs().max().item() for y in outputs)
print(f"1. Momentum 0.01, 0.1, 0.99: batch norm's training output moves by {moved}")

print("2. Standard deviation of one sample's training output, x = 1, over 500 draws of its companions")
print("   batch size   batch norm   r_max 1.5, d_max 0.5   r_max 3, d_max 5")
for size in (2, 4, 8, 32):
    spreads = []
    for r_max, d_max in ((1.0, 0.0), (1.5, 0.5), (3.0, 5.0)):
        layer = BatchRenorm1d(1, momentum=0.0, r_max=r_max, d_max=d_max)  # it remembers 0 and 1, the truth
        companions = torch.randn(500, size - 1, 1, generator=torch.Generator().manual_seed(2))
        batches = torch.cat([torch.ones(500, 1, 1), companions], dim=1)
        spreads.append(torch.stack([layer(batch)[0, 0] for batch in batches]).std().item())
    print(f"   {size:10d}   {spreads[0]:10.3f}   {spreads[1]:20.3f}   {spreads[2]:16.3f}")

# %% [markdown]
# ## 5. Weight normalization by hand (6 points)
#
# Now without a batch. A linear layer has one row of weights $w$ for each output. Salimans and Kingma (2016) write
# the row as a length times a direction, and learn both:
#
# $$
# w = g\, \frac{v}{\lVert v \rVert}, \qquad \lVert v \rVert = \sqrt{\textstyle\sum_j v_j^2}, \qquad y = W x + b .
# $$
#
# There is one $g$ per row, and it may be negative. There is no $\varepsilon$. The activations are not normalized, so that
# training and evaluation are one function and a batch of one is like any other.
#
# ### Predict (1 point)
#
# One row with $v = (3, 4)$ and $g = 10$. The gradient of the loss with respect to $w$ is $(1, 0)$. One step of gradient
# descent with learning rate 1 is taken **on $v$ only**. `predicted_row_norm`: what is the length $\lVert w \rVert$ of the row
# **after** the step? One number, right to two decimals.

# %% nbgrader={"grade": false, "grade_id": "solve-predict-norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_row_norm = None
### BEGIN SOLUTION
predicted_row_norm = 10.0  # g is the length, whatever v does
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "wn-predict-norm", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("wn-predict-norm")

# %% [markdown]
# ### Every intermediate (5 points)
#
# Let $\nabla_y$ be `grad_out`, `(N, out)`, for an input `x`, `(N, in)`, and let $u = v / \lVert v \rVert$. For each row, the
# chain rule gives
#
# $$
# \nabla_w = \sum_n \nabla_{y,n}\, x_n, \qquad
# \nabla_g = \nabla_w \cdot u, \qquad
# \nabla_v = \frac{g}{\lVert v \rVert} \left( \nabla_w - \nabla_g\, u \right) .
# $$
#
# Derive the last one yourself: differentiate $v_i / \lVert v \rVert$ with respect to $v_j$. It says that what the gradient has
# along $v$ is taken out, since a longer $v$ changes nothing.
#
# `wn_backward_steps(grad_out, x, weight_g, weight_v)` returns a dictionary with these five keys. It uses **no autograd**,
# and its arguments are `grad_out` `(N, out)`, `x` `(N, in)`, `weight_g` `(out, 1)`, `weight_v` `(out, in)`.
#
# | key | shape | what |
# |---|---|---|
# | `"length"` | `(out, 1)` | $\lVert v \rVert$ of each row |
# | `"weight"` | `(out, in)` | $W$, with rows $w$ |
# | `"grad_weight"` | `(out, in)` | $\nabla_w$ of each row, a **sum** over the batch |
# | `"grad_g"` | `(out, 1)` | $\nabla_g$ of each row |
# | `"grad_v"` | `(out, in)` | $\nabla_v$ of each row |


# %% nbgrader={"grade": false, "grade_id": "solve-wn-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wn_backward_steps(grad_out, x, weight_g, weight_v):
    """Return every intermediate of weight norm's backward pass; grad_out (N, out), x (N, in)."""
    ### BEGIN SOLUTION
    length = (weight_v**2).sum(dim=1, keepdim=True).sqrt()  # (out, 1)
    u = weight_v / length  # (out, in)
    grad_weight = grad_out.t() @ x  # (out, in)
    grad_g = (grad_weight * u).sum(dim=1, keepdim=True)  # (out, 1)
    return {
        "length": length,
        "weight": weight_g * u,
        "grad_weight": grad_weight,
        "grad_g": grad_g,
        "grad_v": weight_g / length * (grad_weight - grad_g * u),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "wn-backward-length", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("wn-backward-length")

# %% nbgrader={"grade": true, "grade_id": "wn-backward-weight", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("wn-backward-weight")

# %% nbgrader={"grade": true, "grade_id": "wn-backward-grad-weight", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("wn-backward-grad-weight")

# %% nbgrader={"grade": true, "grade_id": "wn-backward-grad-g", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("wn-backward-grad-g")

# %% nbgrader={"grade": true, "grade_id": "wn-backward-grad-v", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("wn-backward-grad-v")

# %% [markdown]
# Your prediction and your formula. Look at the last column as well: the step is at right angles to $v$, so by
# Pythagoras it can only make $v$ **longer**. The longer $v$, the smaller the next step turns it: the learning rate of the
# direction goes down by itself.

# %% nbgrader={"grade": false, "grade_id": "compare-norm", "locked": true, "schema_version": 3, "solution": false, "task": false}
v, g = torch.tensor([[3.0, 4.0]]), torch.tensor([[10.0]])
grad_v = wn_backward_steps(torch.ones(1, 1), torch.tensor([[1.0, 0.0]]), g, v)["grad_v"]
stepped = v - grad_v
row = wn_backward_steps(torch.ones(1, 1), torch.tensor([[1.0, 0.0]]), g, stepped)["weight"]
print("                      predicted  computed")
print(f"length of w           {predicted_row_norm!s:>9.7}  {row.norm().item():8.4f}")
print(f"length of v: {v.norm().item():.4f} before the step, {stepped.norm().item():.4f} after it")

# %% [markdown]
# ## 6. `WeightNormLinear` (15 points)
#
# `WeightNormLinear(in_features, out_features, bias=True)` is an `nn.Module`: a linear layer whose rows are $g\, v / \lVert v \rVert$.
#
# | name | kind | shape | when absent |
# |---|---|---|---|
# | `weight_g` | parameter | `(out_features, 1)` | |
# | `weight_v` | parameter | `(out_features, in_features)` | |
# | `bias` | parameter | `(out_features,)` | `None` if `bias=False` |
#
# Nothing else stands in `parameters()` or in `state_dict()`; an attribute or a property `weight` is yours to have or not.
# (An `nn.Linear` inside or underneath would bring a parameter too many.) A saved state can be loaded strictly. The layer
# may be moved, deep-copied, and put into an `nn.Sequential`; hooks fire.
#
# **The start.** `weight_v` starts with **rows that differ** (draw it at random; $\pm 1/\sqrt{\mathtt{in\_features}}$, uniformly, is
# what `nn.Linear` does), and `weight_g` starts with the **lengths of the rows of `weight_v`**, so that $W = v$ and a fresh
# layer is a plain linear layer. The bias may start with any numbers.
#
# **Forward.** $y = x W^\top + b$, with $W$ made from `weight_g` and `weight_v` **as they are at this call**: after an optimizer step or
# a loaded state the output follows. The length of a row is the root of the **sum of squares of that row of $v$**, with **no
# `eps`**: a very short $v$ gives the same row as a long one. `weight_g` may be negative or 0, and counts with its sign.
# Forward only **reads** `weight_g` and `weight_v`. There are no modes: `train()` and `eval()` change nothing.
#
# **Shapes.** As `nn.Linear`: `x` has `in_features` on its last axis and **any axes before it**, none included. `(in,)` gives `(out,)`,
# `(N, L, in)` gives `(N, L, out)`. The output has the dtype of `x`; `x` itself stays as it is. What happens with another last
# axis is not graded.
#
# **Gradients** flow by autograd to `x`, `weight_g`, `weight_v` (through the length as well) and `bias`. **Any of them may be
# frozen.** Two steps in a row work.


# %% nbgrader={"grade": false, "grade_id": "solve-wn", "locked": false, "schema_version": 3, "solution": true, "task": false}
class WeightNormLinear(nn.Module):
    """A linear layer whose rows have the learned length g and the direction of v."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        ### BEGIN SOLUTION
        bound = in_features**-0.5
        v = torch.empty(out_features, in_features).uniform_(-bound, bound)  # (out, in)
        self.weight_v = nn.Parameter(v)
        self.weight_g = nn.Parameter(v.norm(dim=1, keepdim=True))  # (out, 1)
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound)) if bias else None
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        weight = self.weight_g * self.weight_v / self.weight_v.norm(dim=1, keepdim=True)  # (out, in)
        y = x @ weight.t()  # (..., out)
        return y if self.bias is None else y + self.bias
        ### END SOLUTION


# %% [markdown]
# **Constructor, names, `state_dict`** (2 points), **the start** (1 point)

# %% nbgrader={"grade": true, "grade_id": "wn-interface", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("wn-interface")

# %% nbgrader={"grade": true, "grade_id": "wn-start", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("wn-start")

# %% [markdown]
# **The output, and what is only read** (4 points), **any axes before the last** (2 points)

# %% nbgrader={"grade": true, "grade_id": "wn-forward", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("wn-forward")

# %% nbgrader={"grade": true, "grade_id": "wn-shapes", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("wn-shapes")

# %% [markdown]
# **Gradients** (4 points), **numerics** (2 points)

# %% nbgrader={"grade": true, "grade_id": "wn-gradients", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("wn-gradients")

# %% nbgrader={"grade": true, "grade_id": "wn-numerics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("wn-numerics")

# %% [markdown]
# What does it not do? The next cell makes the data ten times as large, then moves them by 100, then makes $v$ ten times as
# long, and asks each time whether the output stays as it was.

# %% nbgrader={"grade": false, "grade_id": "what-stays", "locked": true, "schema_version": 3, "solution": false, "task": false}
torch.manual_seed(0)
x = torch.randn(64, 5)
linear, renorm = WeightNormLinear(5, 3, bias=False), BatchRenorm1d(3, r_max=1.0, d_max=0.0)
plain = nn.Linear(5, 3, bias=False)


def stays(before, after):
    return "stays" if torch.allclose(before, after, atol=1e-2) else "moves"


with torch.no_grad():
    print("                        weight norm   linear + batch norm")
    for what, changed in (("data times 10", 10 * x), ("data plus 100", x + 100)):
        ours, theirs = stays(linear(x), linear(changed)), stays(renorm(plain(x)), renorm(plain(changed)))
        print(f"{what:22s}  {ours:11s}   {theirs}")
    before, normalized = linear(x), renorm(plain(x))
    linear.weight_v.mul_(10)
    plain.weight.mul_(10)
    print(f"{'v (or W) times 10':22s}  {stays(before, linear(x)):11s}   {stays(normalized, renorm(plain(x)))}")

# %% [markdown]
# ## 7. The experiment: small batches
#
# The question from the top, made precise **before** anything runs. Train small networks with batches of 2, 4, 8 and 32 images:
#
# - with batch norm: your layer with `r_max = 1` and `d_max = 0`, so that nothing but the correction differs;
# - with batch renormalization: the same layer, whose limits are held at 1 and 0 for the first 80 updates and then
#   opened step by step to 3 and 5, as its paper does;
# - without normalization, the **control**, on the same batches.
#
# Measure each on the test images in evaluation mode, and also with batch statistics in batches of the size it was trained
# with. **How far apart are the two modes of one network? At which sizes does the correction lower the error by more than the
# bars are long? Where does it buy nothing?** Every network gets 400 updates, the same learning rate and the same start, so
# that a small batch size also means less data: what the control shows as well is not the layer's fault.
#
# Write down what you expect. Then run: 1797 digits of scikit-learn, 8 x 8 pixels, 10 to 25 seconds.

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-networks", "locked": true, "schema_version": 3, "solution": false, "task": false}
import copy
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

BATCH_SIZES, UPDATES, RATE, SEEDS, BUDGET_S = (2, 4, 8, 32), 400, 0.02, 4, 45
MOMENTUM, HELD, OPENING = 0.02, 80, 120  # limits stay at 1 and 0 for HELD updates, and open during OPENING more
KINDS = ("batch norm", "batch renorm", "no normalization")

pixels, classes = load_digits(return_X_y=True)
order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(0))
images, classes = torch.tensor(pixels, dtype=torch.float32)[order], torch.tensor(classes)[order]
train_images, train_classes = images[:1347], classes[:1347]
test_images, test_classes = images[1347:], classes[1347:]
mean, std = train_images.mean(), train_images.std()  # of the training part only
train_images, test_images = (train_images - mean) / std, (test_images - mean) / std


def network(seed, kind):
    """Two hidden layers of 64 units; one seed gives the same weights whatever stands between them."""
    torch.manual_seed(seed)
    linear = [nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)]
    none = kind == "no normalization"
    norms = [nn.Identity() if none else BatchRenorm1d(64, momentum=MOMENTUM) for _ in range(2)]
    return nn.Sequential(linear[0], norms[0], nn.ReLU(), linear[1], norms[1], nn.ReLU(), linear[2])


def limits(step, kind):
    """Return r_max and d_max for an update; batch norm's never open."""
    share = min(max((step - HELD) / OPENING, 0.0), 1.0) if kind == "batch renorm" else 0.0
    return 1 + 2 * share, 5 * share


def train(kind, batch_size, seed):
    """Do UPDATES steps of SGD with momentum; the same seed draws the same batches for all kinds."""
    model, draws = network(seed, kind), torch.Generator().manual_seed(1000 + seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    layers = [layer for layer in model if isinstance(layer, BatchRenorm1d)]
    for step in range(UPDATES):
        for layer in layers:
            layer.r_max, layer.d_max = limits(step, kind)
        batch = torch.randperm(len(train_images), generator=draws)[:batch_size]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train_images[batch]), train_classes[batch]).backward()
        optimizer.step()
    return model


@torch.no_grad()
def error_on_test(model, batch_size=None):
    """Return the test error in %: in evaluation mode, or in training mode in batches of a size."""
    model = copy.deepcopy(model)  # training mode would move the running values
    model.train(batch_size is not None)
    shuffled = torch.randperm(len(test_images), generator=torch.Generator().manual_seed(0))
    batches = shuffled.split(batch_size or len(shuffled))
    batches = [b for b in batches if len(b) == len(batches[0])]  # no smaller one at the end
    wrong = sum((model(test_images[b]).argmax(1) != test_classes[b]).sum().item() for b in batches)
    return 100 * wrong / sum(len(b) for b in batches)


cells = [(size, kind) for size in BATCH_SIZES for kind in KINDS]
results, started = {cell: [] for cell in cells}, time.thread_time()
for seed in range(SEEDS):
    this_seed = {}
    for size, kind in cells:
        if time.thread_time() - started > BUDGET_S:
            break
        model = train(kind, size, seed)
        this_seed[size, kind] = (error_on_test(model, size), error_on_test(model))
    if len(this_seed) < len(cells):
        print(f"Stopped after {BUDGET_S} s of CPU time: {seed} of {SEEDS} seeds are complete; only those count.")
        break
    for cell in cells:
        results[cell].append(this_seed[cell])
if not results[cells[0]]:
    raise RuntimeError(f"No seed was complete in {BUDGET_S} s of CPU time; does your layer loop over samples?")

table = {cell: torch.tensor(rows) for cell, rows in results.items()}  # (seeds, 2)
spent = time.thread_time() - started
print(f"{spent:.0f} s of CPU time. Test error in %, mean +- standard deviation of {len(results[cells[0]])} seeds")
print("batch size  kind                training mode     evaluation mode")
for (size, kind), rows in table.items():
    batch, evaluation = (f"{m:5.1f} +- {s:4.1f}" for m, s in zip(rows.mean(0), rows.std(0), strict=True))
    print(f"{size:10d}  {kind:18s}  {batch}     {evaluation}")

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
if "table" not in globals() or not table:
    raise RuntimeError("There is no trained network yet: the cell above must run to its end first.")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
styles = {
    "batch norm": ("#c1440e", "o"),
    "batch renorm": ("#1f5fa8", "s"),
    "no normalization": ("#707070", "^"),
}
for k, (kind, (colour, marker)) in enumerate(styles.items()):
    rows = torch.stack([table[size, kind] for size in BATCH_SIZES])  # (sizes, seeds, 2)
    place = [size * 1.06 ** (k - 1) for size in BATCH_SIZES]  # side by side: no bar hides another
    errors = rows[:, :, 1]
    left.errorbar(place, errors.mean(1), yerr=errors.std(1), color=colour, marker=marker, capsize=3, label=kind)
    gap = rows[:, :, 0] - rows[:, :, 1]
    if kind != "no normalization":
        right.errorbar(place, gap.mean(1), yerr=gap.std(1), color=colour, marker=marker, capsize=3, label=kind)
left.set(xlabel="batch size", ylabel="test error in evaluation mode (%)", ylim=(0, None))
left.set_title(f"Same {UPDATES} updates for every batch size")
right.set(xlabel="batch size", ylabel="training mode minus evaluation mode (points)")
right.set_title("How far apart the two modes are")
for panel in (left, right):
    panel.set_xscale("log", base=2)
    panel.set_xticks(BATCH_SIZES, [str(size) for size in BATCH_SIZES])
    panel.legend(frameon=False)
plt.show()

# %% [markdown]
# **Read it with care.** The bars are standard deviations over a few seeds of one small network on one small data set; the
# schedule of the limits was chosen once and tuned for no size. What your own run shows is the evidence; if it disagrees
# with what you read elsewhere, write what you see.

# %% [markdown]
# ## 8. A written answer (6 points, graded by a person)
#
# In about 150 words, with numbers from **your** table where they are asked for:
#
# **(a)** At which batch sizes does batch renormalization lower the error in evaluation mode by more than the bars, and where does
# it buy nothing? How far apart are the two modes of each of the two layers at the smallest size? Use the control.
# **(b)** Why are $r$ and $d$ constants for the gradient, and why are they clipped, tightly at first? Say for each of the
# two precautions what would go wrong without it.
# **(c)** Which troubles of batch norm does weight normalization not have, and what does batch norm do that it does not?
#
# How it is graded, two points for each part:
#
# | | 2 points | 1 point | 0 points |
# |---|---|---|---|
# | (a) | names sizes on both sides, uses the control, gives both gaps as numbers | numbers without the control, or the control without numbers | no numbers of the run |
# | (b) | with a gradient the unclipped layer is a fixed scaling, so that the batch statistics no longer tame the gradient; and early running values are far from any batch | only one of the two | neither |
# | (c) | no batch, one function in both modes, any batch size; but activations keep the scale and the mean of the data | only one side | neither |

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-answer", "locked": false, "points": 6, "schema_version": 3, "solution": true, "task": false}
# (a) In evaluation mode batch renorm is far better than batch norm at 2 (33 +- 5 against 58 +- 6 % error, my run, 4 seeds) and at
# 4 (5.2 against 9.9), still a little at 8 (3.6 +- 0.8 against 4.9 +- 1.2, the bars nearly touch), and not at 32 (2.1 against 2.5 within the
# bars). At 2 it does not beat the control (34): little data, noisy gradients. The two modes of batch norm lie 16
# points apart at size 2, those of batch renorm 1 point.
#
# (b) If gradients flowed through r and d, then sigma_B and mu_B would cancel wherever nothing is clipped: the layer would be the fixed
# scaling (x - mu) / sigma with a fixed gradient, and the part of the gradient that keeps a batch's mean and spread from running
# away would be gone. Without limits the first batches would be "corrected" by running values that are still 0 and 1,
# far from any batch; so the layer starts as batch norm and opens when they mean something.
#
# (c) Weight norm knows no batch: one function in both modes, any batch size, no leak between examples. But it normalizes no
# activation: if the data grow tenfold, so do its outputs, and their mean is not removed.

# %% [markdown]
# ## 9. Stretch (no points)
#
# **A start from data.** Weight normalization was proposed with a start that uses one batch: set $g = 1$ and $b = 0$, run the batch,
# let $\mu$ and $\sigma$ be mean and standard deviation of each output, and then set $g = 1 / \sigma$ and $b = -\mu / \sigma$. Write
# `start_from(layer, x)` that does so in place. The outputs for that batch then have mean 0 and standard deviation 1; which layer do they
# come from, as far as this one batch is concerned? Start all layers of a deep network in this way, one after the other. How long does the
# scale of the activations stay near 1 when training begins?
#
# **The gradient that should not flow.** Take the `no_grad` (or `detach`) out of a copy of your `BatchRenorm1d`, open the limits to 60,
# and compare the gradient of `x` with that of $(x - \mu)/\sigma$ for constant $\mu$ and $\sigma$. Why are they the same? Train the
# network of section 7 with that copy.
#
# **Half precision.** Make both layers accept float16 and bfloat16, with statistics and norms in float32 and an output in the dtype of
# `x`. Compare with float64.

# %%
# Your own trials go here.
