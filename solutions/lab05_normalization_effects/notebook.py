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
# # Lab 5: What normalization does in training
#
# **The question.** "Batch normalization works because it reduces internal covariate shift": the layers' inputs keep
# their distribution while the network learns. The sentence stands in hundreds of texts, and in the title of the paper that
# began it all. Is it true? That cannot be seen in a formula, nor in an untrained network. It has to be measured, and measured
# in a way that could also have said "no".
#
# In this lab you build the instruments, and then you use them.
#
# **When you are done you can**
#
# 1. say what a shift is, at which points two networks can be compared, and which measurements can only come out one way;
# 2. look into a model while it learns, without changing what it learns;
# 3. measure the gap between a network's two modes, and close it by re-estimating the running statistics;
# 4. compute the gradient measure of Santurkar et al. (2018), and report with error bars what it does and does not show here.
#
# **Time:** 75 to 90 minutes. **Points:** 74, of which 68 are given by the machine and 6 by a person.
#
# **Read with it:** the chapters [Core Concepts](../../book/core-concepts.md) and
# [Key Challenges](../../book/key-challenges.md) of the course book. If you have this notebook alone, you find the book at
# <https://github.com/normalization-course/normalization-course>.

# %% [markdown]
# ## How this lab is graded
#
# - Cells that say `# YOUR CODE HERE` are yours. Write there, and add cells of your own wherever you like.
# - A cell with one line, `check("...")`, tries your work on fixed public examples, here and offline. It gives no grade.
# - For the grade, the same questions are asked with **other models and other numbers**, drawn anew: networks with and
#   without normalization, flat and nested, given in training or in evaluation mode. Nothing is random in the functions
#   themselves: batches come as lists of places in the data.
# - What is asked is written here in full.
#
# **What you may use: everything.** In this lab you do not build normalization layers, you study networks that hold PyTorch's own.
# Hooks, copies of the model, `torch.optim`, `torch.func`, `.backward()` or `torch.autograd.grad`, loops or none: any honest
# style is welcome. Your functions may use one another. Mind the price: a fault in one that others use can cost points
# there too.
#
# **All of it must hold** in float64 and in float32; tensors that you return have the dtype of the model. Where a pair is asked,
# return a tuple of two tensors. Where a number is asked, a Python number or a 0-dimensional tensor will do.
#
# **A measurement leaves no trace.** When a task says that the model **stays exactly as it was**, this is graded, bit by bit:
#
# - the mode (`training`) of every module, and the number of hooks on it;
# - every parameter and every buffer, so also `running_mean`, `running_var` and `num_batches_tracked`, and every `momentum`.
#   Beware: a forward pass in training mode moves the running statistics, under `torch.no_grad()` too;
# - every `.grad` and every `requires_grad`.
#
# Adding a step and subtracting it again is not exact. A copy (`copy.deepcopy`) is the simplest way to leave no trace; putting back
# what you saved is another. Tensors that you are given stay as they were, in every task: their numbers, `.grad` and
# `requires_grad`. So do the lists and dictionaries that you are given: nothing is added to them or taken out.

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

import copy

import torch
from torch import nn
from torch.nn import functional as F

try:
    from autograder.student import check
except ImportError as missing:
    raise ImportError(
        f'The course package is not installed. Run  pip install "{COURSE}"  and restart the kernel.'
    ) from missing

print("torch", torch.__version__)

# %% [markdown]
# ## 1. What a shift is
#
# **Two times.** A distribution shifts when it is one thing now and another thing later. One look at a network, before training
# or after, shows no shift at all. So we look at one and the same set of inputs, the **probe**, before the first update and
# after each. The probe never changes; what changes between two looks is due to the network.
#
# **Matched points.** To compare a network with normalization and one without, we need points that both have. Index 2 of
# the one list of layers is a ReLU, of the other a normalization layer. What both have are the **pre-activations**: the outputs of
# the `nn.Linear` layers, before any normalization and before the nonlinearity. Linear layer $l$ of the one is matched with
# linear layer $l$ of the other.
#
# **Unit by unit.** If one unit goes up by 10 and another down by 10, the mean of the layer stays the same. So every unit gets its
# own mean and its own standard deviation, and the average over units comes last, when signs are gone.
#
# Let $\mu_j(t)$ and $\sigma_j(t)$ be the mean and the standard deviation of unit $j$ on the probe after $t$ updates. For a layer
# with $U$ units, the drift over `lag` updates is
#
# $$
# \text{moved}(t) = \frac1U \sum_j \frac{|\mu_j(t + \text{lag}) - \mu_j(t)|}{\sigma_j(t)},
# \qquad
# \text{widened}(t) = \frac1U \sum_j \left| \ln \frac{\sigma_j(t + \text{lag})}{\sigma_j(t)} \right| .
# $$
#
# The unit of measure is the deviation **before** the change: the layer above was fitted to that.
#
# ### Predict first (3 points)
#
# With pencil and paper, before you write any code. Each is one number, right to two decimals. The checks only note what you
# say; you will see below whether it was true.
#
# - `predicted_shift`: a layer has one unit. Before an update it has mean 2 and deviation 2 on the probe, after it mean 5 and
#   deviation 1. What is `moved`?
# - `predicted_running_var`: a batch norm layer has one channel. Two batches go through it, the columns $(1, 3)$ and $(5, 7, 9)$.
#   Then its running variance is set to the **plain average over the batches** of the **unbiased** batch variance, each batch
#   with the same weight. What is it?
# - `predicted_first_change`: take the gradient $G$ of the **first** layer's weight. Now let all layers **below** that layer learn
#   a little, and take the gradient $G'$ on the same batch. What is $\|G - G'\|$?

# %% nbgrader={"grade": false, "grade_id": "solve-predictions", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_shift = None
predicted_running_var = None
predicted_first_change = None
### BEGIN SOLUTION
predicted_shift = abs(5 - 2) / 2
predicted_running_var = (2 + 4) / 2  # of 1 and 3: 2; of 5, 7 and 9: 4
predicted_first_change = 0  # there is nothing below
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "fx-predict-shift", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("fx-predict-shift")

# %% nbgrader={"grade": true, "grade_id": "fx-predict-running-var", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("fx-predict-running-var")

# %% nbgrader={"grade": true, "grade_id": "fx-predict-first-change", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("fx-predict-first-change")

# %% [markdown]
# ## 2. Two tools
#
# ### The statistics of each unit (2 points)
#
# `unit_statistics(h)` takes what a linear layer puts out: `h` of shape `(N, units)`, or `(N, T, units)` when the inputs have a
# time axis. It returns the pair `(mean, std)`, each of shape `(units,)`: the mean and the **biased** standard deviation of
# each unit, over **all axes but the last**. Biased means: the sum of squares is divided by the number of values. Compute it from
# the differences to the mean (as `torch.std` does): the short cut, the mean of the squares minus the square of the mean, is
# useless in float32 when the mean is large, and a mean of 1000 deviations will be asked about.


# %% nbgrader={"grade": false, "grade_id": "solve-units", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unit_statistics(h):
    """Return mean and biased standard deviation of each unit: h (..., units) -> (units,), (units,)."""
    ### BEGIN SOLUTION
    rows = h.flatten(0, -2)  # (values, units)
    return rows.mean(dim=0), rows.std(dim=0, correction=0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "fx-units", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-units")

# %% [markdown]
# ### The gradients of a loss (2 points)
#
# `loss_gradients(model, x, classes)` returns the gradients of the **mean** cross-entropy of `model(x)` and `classes`, one tensor for
# each parameter, in the order of `model.parameters()`, as a tuple or a list. `classes` is `(N,)`, int64. The model runs in the mode
# that it is in. **Nothing is left in `.grad`**: what stood there before stands there afterwards. (`torch.autograd.grad`
# returns gradients and writes nothing.)


# %% nbgrader={"grade": false, "grade_id": "solve-gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def loss_gradients(model, x, classes):
    """Return the gradient of the mean cross-entropy for each parameter, in their order."""
    ### BEGIN SOLUTION
    return torch.autograd.grad(F.cross_entropy(model(x), classes), list(model.parameters()))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "fx-gradients", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-gradients")

# %% [markdown]
# ## 3. Looking into a model (10 points)
#
# `preactivation_statistics(model, x)` runs the model on `x` once and returns a list with one pair `(mean, std)`, as from
# `unit_statistics`, for **each `nn.Linear`**, in the order in which they are called.
#
# - **Linear layers and nothing else**: all of them, the last one too, and those that sit inside nested blocks. No convolutions, no
#   normalization layers, no nonlinearities. What counts is the layer's **output**.
# - `x` has the shape `(N, features)`, `(N, T, features)`, or that of images if the model begins with a convolution.
# - The pass happens **in the mode that the model is in**: in training mode batch norm uses the statistics of `x`, in evaluation
#   mode its running ones.
# - As always, float32 with a large mean must be right to float32's honest limits.
# - The model **stays exactly as it was**, and so does `x`.
#
# A forward hook is called with `(module, inputs, output)` after each forward pass of its module;
# `module.register_forward_hook(hook)` returns a handle, and `handle.remove()` takes the hook off again.


# %% nbgrader={"grade": false, "grade_id": "solve-statistics", "locked": false, "schema_version": 3, "solution": true, "task": false}
def preactivation_statistics(model, x):
    """Return [(mean, std), ...] of the output of each nn.Linear for one forward pass on x."""
    ### BEGIN SOLUTION
    looked_at, found = copy.deepcopy(model), []
    for module in looked_at.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda module, inputs, output: found.append(unit_statistics(output)))
    with torch.no_grad():
        looked_at(x)
    return found
    ### END SOLUTION


# %% [markdown]
# **The mean of each unit** (2 points), **the deviation** (2 points), **the right points** (3 points), **no trace** (3 points)

# %% nbgrader={"grade": true, "grade_id": "fx-stats-mean", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-stats-mean")

# %% nbgrader={"grade": true, "grade_id": "fx-stats-std", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-stats-std")

# %% nbgrader={"grade": true, "grade_id": "fx-stats-points", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-stats-points")

# %% nbgrader={"grade": true, "grade_id": "fx-stats-manners", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-stats-manners")

# %% [markdown]
# ## 4. Following a training (11 points)
#
# `track_training(model, x, classes, batches, lr, probe)` trains the model and looks at it all the while.
#
# - **Updates.** `x` are all inputs and `classes` `(N,)` all classes. `batches` is a tuple or a list of int64 tensors, each with the
#   places of one batch in the data; their sizes may differ, and there may be none. For each batch, in this order, one update
#   of **plain SGD** (no momentum, no decay): $p \leftarrow p - \text{lr} \cdot \partial \ell / \partial p$ for **every** parameter,
#   with $\ell$ the **mean** cross-entropy on `x[batch]` and `classes[batch]`.
# - **Mode.** Updates and measurements happen in **training mode**, whatever mode the model is given in. Afterwards every module is in
#   the mode in which it was given, and every `momentum` and `requires_grad` is what it was.
# - **Measurements.** The pre-activations on the fixed `probe`, **before the first update and after each**. They leave no trace: no
#   hooks stay, and **only the batches move the running statistics** and the count.
# - **It returns** a list with one pair `(means, stds)` for each `nn.Linear`, each tensor of shape `(len(batches) + 1, units)`. Row $t$
#   holds the mean (the biased deviation) of each unit after $t$ updates.
# - **The model itself is trained**, not a copy. What you leave in `.grad` is your own business.


# %% nbgrader={"grade": false, "grade_id": "solve-training", "locked": false, "schema_version": 3, "solution": true, "task": false}
def track_training(model, x, classes, batches, lr, probe):
    """Train by plain SGD; return [(means, stds), ...], each (len(batches) + 1, units), for each nn.Linear."""
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.train()
    looks = [preactivation_statistics(model, probe)]
    for batch in batches:
        gradients = loss_gradients(model, x[batch], classes[batch])
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= lr * gradient
        looks.append(preactivation_statistics(model, probe))
    for module, mode in modes.items():
        module.training = mode
    history = []
    for layer in zip(*looks, strict=True):
        means, stds = zip(*layer, strict=True)
        history.append((torch.stack(means), torch.stack(stds)))
    return history
    ### END SOLUTION


# %% [markdown]
# **The history** (4 points), **the trained weights** (4 points), **running statistics, modes, hooks** (3 points)

# %% nbgrader={"grade": true, "grade_id": "fx-track-history", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("fx-track-history")

# %% nbgrader={"grade": true, "grade_id": "fx-track-model", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("fx-track-model")

# %% nbgrader={"grade": true, "grade_id": "fx-track-running", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-track-running")

# %% [markdown]
# ## 5. The drift (7 points)
#
# `drift(history, lag=1)` takes what `track_training` returns, a list (or tuple) of $L$ pairs `(means, stds)` of shape `(times, units)`
# with `times` at least 1, and returns the pair `(moved, widened)`, each of shape `(times - lag, L)`: entry `[t, l]` compares time $t$
# with time $t + \text{lag}$ in layer $l$, by the two formulas of section 1. Layers may have different numbers of units.
#
# `ValueError` where there are no two such times: for a `lag` below 1, and for a history with `times <= lag`. A network that was looked
# at once has no drift, not even a drift of 0.


# %% nbgrader={"grade": false, "grade_id": "solve-drift", "locked": false, "schema_version": 3, "solution": true, "task": false}
def drift(history, lag=1):
    """Return (moved, widened), each (times - lag, L)."""
    ### BEGIN SOLUTION
    times = len(history[0][0])
    if lag < 1 or times <= lag:
        raise ValueError(f"a drift over {lag} updates can't be read off {times} times")
    moved, widened = [], []
    for mean, std in history:
        moved.append(((mean[lag:] - mean[:-lag]) / std[:-lag]).abs().mean(dim=1))
        widened.append((std[lag:] / std[:-lag]).log().abs().mean(dim=1))
    return torch.stack(moved, dim=1), torch.stack(widened, dim=1)
    ### END SOLUTION


# %% [markdown]
# **How far the means moved** (3 points), **how much the deviations changed** (2 points), **other lags and errors** (2 points)

# %% nbgrader={"grade": true, "grade_id": "fx-drift-moved", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-drift-moved")

# %% nbgrader={"grade": true, "grade_id": "fx-drift-widened", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-drift-widened")

# %% nbgrader={"grade": true, "grade_id": "fx-drift-lag", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-drift-lag")

# %% [markdown]
# > **What the first version of this lab got wrong**
# >
# > The lab that this one grew out of had a function `measure_covariate_shift`. It sent one batch through the list of layers,
# > took `x.std()` after each, and printed the first three numbers of a network without and of one with layer norm. The next
# > cell repeats it, and then asks what it measures.
# >
# > 1. **There is no shift in it.** One network, one batch, one time. Nothing was trained. What it shows is the scale of the
# >    activations at the start, and that follows from how the weights were drawn.
# > 2. **Its answer was fixed beforehand.** Behind a fresh layer norm the deviation is 1 because the layer divides by it. The number
# >    printed is 1.0003, whatever the data and the weights: $\sqrt{1600/1599}$, since `std()` divides by $n - 1$. Even after
# >    training it tells only what the layer norm's own `weight` and `bias` have become, and nothing of the layer below.
# > 3. **It compared different things.** Entry 1 is a ReLU in the one list and a layer norm in the other. The lists have 5
# >    and 7 entries.
# > 4. **It could not fail.** There was no number at which the lab would have said "no shift reduced". It printed "working".
# > 5. **It did not run.** All indentation was lost in print.
# >
# > *Ask of every measurement: what would it have shown if the claim were false?*


# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "first-version", "locked": true, "schema_version": 3, "solution": false, "task": false}
def first_version(layers, x):
    """What the first version printed: the deviation after each layer, of one untrained network and one batch."""
    deviations = []
    for layer in layers:
        x = layer(x)
        deviations.append(round(x.std().item(), 4))
    return deviations


torch.manual_seed(0)
without = nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 50), nn.ReLU(), nn.Linear(50, 10))
with_norm = nn.Sequential(
    *(nn.Linear(10, 50), nn.LayerNorm(50), nn.ReLU()),
    *(nn.Linear(50, 50), nn.LayerNorm(50), nn.ReLU()),
    nn.Linear(50, 10),
)
x, classes = torch.randn(32, 10), torch.arange(32) % 10
print("Entry by entry, as the first version did:")
for a, b in zip(without, with_norm, strict=False):
    print(f"   {type(a).__name__:10s} beside {type(b).__name__}")
print("After a layer norm, before training:           ", first_version(with_norm, x)[1::3][:2])
print("... for data 1000 times as large, shifted by 50:", first_version(with_norm, 1000 * x + 50)[1::3][:2])
history = track_training(with_norm, x, classes, [torch.arange(32)] * 100, 0.3, x)
print("... and after 100 updates:                      ", first_version(with_norm, x)[1::3][:2])
print("What your drift says of these 100 updates, layer by layer (in standard deviations):")
print("  ", [round(n, 2) for n in drift(history, lag=100)[0][0].tolist()])

# %% nbgrader={"grade": false, "grade_id": "compare-shift", "locked": true, "schema_version": 3, "solution": false, "task": false}
print(f"You predicted a shift of {predicted_shift}; your drift says", end=" ")
print(drift([(torch.tensor([[2.0], [5.0]]), torch.tensor([[2.0], [1.0]]))])[0].item())

# %% [markdown]
# ## 6. Two modes (15 points)
#
# ### The gap (7 points)
#
# With batch norm, a model is two models: one that uses the statistics of whatever batch it sees, and one that uses the running
# statistics. `train_eval_gap(model, x, classes)` asks both about the same examples and returns a dictionary with three numbers:
#
# | key | what |
# |---|---|
# | `"batch"` | the mean cross-entropy in **training mode**: batch norm uses the statistics of `x` |
# | `"running"` | the mean cross-entropy in **evaluation mode**, with the running statistics **that the model was given with** |
# | `"changed"` | the **share** (from 0 to 1) of the examples whose predicted class, the largest output, differs between the two modes |
#
# `"changed"` is asked example by example. Two modes can err equally often, on different examples. The numbers do not depend on the mode in
# which the model is given. The model **stays exactly as it was**, and so do `x` and `classes`.


# %% nbgrader={"grade": false, "grade_id": "solve-gap", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_eval_gap(model, x, classes):
    """Return {"batch": loss, "running": loss, "changed": share}."""
    ### BEGIN SOLUTION
    asked = copy.deepcopy(model)
    with torch.no_grad():
        by_running = asked.eval()(x)  # first: training mode would move the running statistics
        by_batch = asked.train()(x)
    return {
        "batch": F.cross_entropy(by_batch, classes).item(),
        "running": F.cross_entropy(by_running, classes).item(),
        "changed": (by_batch.argmax(dim=1) != by_running.argmax(dim=1)).double().mean().item(),
    }
    ### END SOLUTION


# %% [markdown]
# **Both losses** (3 points), **changed predictions** (2 points), **no trace** (2 points)

# %% nbgrader={"grade": true, "grade_id": "fx-gap-losses", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-gap-losses")

# %% nbgrader={"grade": true, "grade_id": "fx-gap-changed", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-gap-changed")

# %% nbgrader={"grade": true, "grade_id": "fx-gap-manners", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-gap-manners")

# %% [markdown]
# ### Closing it (8 points)
#
# The running statistics are an exponential average. They lag behind the weights, and the last few batches weigh most. After
# training one can do better: freeze the weights, send some batches through, and average. This is known as **precise BN**.
#
# `reestimate(model, batches)` does it in place. `batches` is a tuple or a list of inputs (not of places), such as `(N, features)`, of
# sizes that may differ. Afterwards, in every `nn.BatchNorm1d` and `nn.BatchNorm2d`, nested ones too:
#
# - `running_mean` is the **plain average over the batches** of the batch's mean, `running_var` that of the batch's **unbiased**
#   variance. Each batch weighs the same, **whatever its size**; nothing of the old running statistics is left;
# - meanwhile the **whole model is in training mode**: an upper layer sees what the lower ones make of the same batch;
# - `num_batches_tracked` is the number of these batches;
# - **everything else is as before**: every `momentum`, the mode of every module, all parameters and their `requires_grad`, the number
#   of hooks.
#
# A model without batch norm stays as it is. `ValueError` if there are **no batches**. What the function returns is not looked at.
#
# (PyTorch's `momentum=None` means the cumulative average. `reset_running_stats()` sets the statistics and the count to their start.)


# %% nbgrader={"grade": false, "grade_id": "solve-reestimate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reestimate(model, batches):
    """Replace the running statistics of every batch norm by plain averages over these batches."""
    ### BEGIN SOLUTION
    if len(batches) == 0:
        raise ValueError("give at least one batch: there is no average of nothing")
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    modes = {module: module.training for module in model.modules()}
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    with torch.no_grad():
        for batch in batches:
            model(batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    for module, mode in modes.items():
        module.training = mode
    ### END SOLUTION


# %% [markdown]
# **The averages** (4 points), **everything else** (3 points), **no batches** (1 point)

# %% nbgrader={"grade": true, "grade_id": "fx-precise-average", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("fx-precise-average")

# %% nbgrader={"grade": true, "grade_id": "fx-precise-manners", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-precise-manners")

# %% nbgrader={"grade": true, "grade_id": "fx-precise-errors", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("fx-precise-errors")

# %% nbgrader={"grade": false, "grade_id": "compare-predictions", "locked": true, "schema_version": 3, "solution": false, "task": false}
layer = nn.BatchNorm1d(1)
reestimate(layer, [torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [7.0], [9.0]])])
print(f"running_var: you predicted {predicted_running_var}, your function says {layer.running_var.item():.4f}")

# %% [markdown]
# ## 7. The gradient's point of view (11 points)
#
# Why would a shift matter? Because a layer computes its update as if the layers below stood still. They do not: all
# layers are updated at once. Santurkar, Tsipras, Ilyas and Madry (2018, definition 2.1) therefore measure internal covariate shift by the
# **gradient**. Let $W_1, \dots, W_L$ be the layers before an update, $W'_1, \dots$ those after it, and $\ell$ the loss on the batch of this
# update. For layer $l$
#
# $$
# G = \nabla_{W_l}\, \ell(W_1, \dots, W_{l-1}, W_l, \dots, W_L),
# \qquad
# G' = \nabla_{W_l}\, \ell(W'_1, \dots, W'_{l-1}, W_l, \dots, W_L),
# $$
#
# on **the same batch**. $\|G - G'\|$ is the shift that the layer feels: its gradient before and after the layers below have moved.
#
# `gradient_change(model, x, classes, layer, lr)` returns a dictionary with three numbers:
#
# | key | what |
# |---|---|
# | `"norm"` | $\lVert G \rVert$ |
# | `"change"` | $\lVert G - G' \rVert$, not divided by anything |
# | `"cosine"` | $\langle G, G' \rangle / (\lVert G \rVert\, \lVert G' \rVert)$ |
#
# - `layer` counts the `nn.Linear` layers **from 0**, in the order of `model.modules()`, nested ones too.
# - $G$ and $G'$ are gradients of the mean cross-entropy on all of `x`, `classes` for the **`weight`** of that layer, taken as **one long
#   vector**; $\lVert \cdot \rVert$ is the root of the sum of squares.
# - $W'$: **every parameter that stands before that weight in `model.parameters()`** takes one step
#   $p \leftarrow p - \text{lr} \cdot \partial \ell / \partial p$: weights, biases, and the parameters of normalization layers. The
#   layer itself and everything above stay. For layer 0 there is nothing below.
# - Everything in **training mode**, whatever mode the model is given in.
# - The model **stays exactly as it was**, and so do `x` and `classes`.


# %% nbgrader={"grade": false, "grade_id": "solve-change", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_change(model, x, classes, layer, lr):
    """Return {"norm": ||G||, "change": ||G - G'||, "cosine": of the two}."""
    ### BEGIN SOLUTION
    moving = copy.deepcopy(model).train()
    weight = [m for m in moving.modules() if isinstance(m, nn.Linear)][layer].weight
    parameters = list(moving.parameters())
    place = [parameter is weight for parameter in parameters].index(True)
    gradients = loss_gradients(moving, x, classes)
    with torch.no_grad():
        for parameter, gradient in zip(parameters[:place], gradients[:place], strict=True):
            parameter -= lr * gradient
    before, after = gradients[place], loss_gradients(moving, x, classes)[place]
    return {
        "norm": before.norm().item(),
        "change": (before - after).norm().item(),
        "cosine": ((before * after).sum() / (before.norm() * after.norm())).item(),
    }
    ### END SOLUTION


# %% [markdown]
# **The norm** (2 points), **the change** (4 points), **the cosine** (2 points), **no trace** (3 points)

# %% nbgrader={"grade": true, "grade_id": "fx-change-norm", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-change-norm")

# %% nbgrader={"grade": true, "grade_id": "fx-change-change", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("fx-change-change")

# %% nbgrader={"grade": true, "grade_id": "fx-change-cosine", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-change-cosine")

# %% nbgrader={"grade": true, "grade_id": "fx-change-manners", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-change-manners")

# %% [markdown]
# ## 8. A fair comparison (7 points)
#
# One number from one run is an anecdote. `compare(makers, seeds, x, classes, batches, lr, probe)` repeats the measurement.
#
# - `makers` is a dictionary: the name of a kind of network, and a function `make(seed)` that returns a fresh model of that kind.
#   `seeds` is a tuple, list or range of integers.
# - For every kind and **every seed**, a fresh model `make(seed)` is trained by `track_training` on **the same** `batches`. Its `moved` (from
#   `drift` with lag 1) is **averaged over the updates**: one number for each linear layer.
# - **It returns** a dictionary with the same names. Each holds the pair `(mean, bar)`, each of shape `(L,)`: the mean over the seeds, and the
#   **unbiased standard deviation over the seeds** (division by the number of seeds minus 1; not a standard error).
# - `ValueError` for **fewer than two seeds**: one run has no error bar.
# - `ValueError` if the kinds have **no matched points**: all kinds must have the same number of `nn.Linear` layers, and layer $l$ the same number
#   of units (`out_features`) in all of them, in this order. Other modules do not matter: that is what matching is for. There is at least one
#   batch.


# %% nbgrader={"grade": false, "grade_id": "solve-compare", "locked": false, "schema_version": 3, "solution": true, "task": false}
def compare(makers, seeds, x, classes, batches, lr, probe):
    """Return {kind: (mean, bar)}, each (L,): the drift per update, over seeds."""
    ### BEGIN SOLUTION
    if len(seeds) < 2:
        raise ValueError(f"an error bar needs two seeds; there are {len(seeds)}")
    widths = {
        kind: tuple(m.out_features for m in make(seeds[0]).modules() if isinstance(m, nn.Linear))
        for kind, make in makers.items()
    }
    if len(set(widths.values())) > 1:
        raise ValueError(f"no matched points: the linear layers have {widths} units")
    table = {}
    for kind, make in makers.items():
        runs = []
        for seed in seeds:
            moved, _ = drift(track_training(make(seed), x, classes, batches, lr, probe))
            runs.append(moved.mean(dim=0))  # over the updates: (L,)
        runs = torch.stack(runs)  # (seeds, L)
        table[kind] = (runs.mean(dim=0), runs.std(dim=0))
    return table
    ### END SOLUTION


# %% [markdown]
# **The mean** (3 points), **the bars** (2 points), **what can be compared** (2 points)

# %% nbgrader={"grade": true, "grade_id": "fx-compare-mean", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("fx-compare-mean")

# %% nbgrader={"grade": true, "grade_id": "fx-compare-bars", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-compare-bars")

# %% nbgrader={"grade": true, "grade_id": "fx-compare-matched", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("fx-compare-matched")

# %% [markdown]
# ## 9. The experiment: three questions to a network that learns
#
# Your instruments are ready. The questions, made precise **before** anything runs:
#
# 1. **Drift.** How far do the pre-activations move per update, in standard deviations: without normalization, with batch norm,
#    with layer norm? If "less shift" is what makes normalized networks train well, then both normalizations should show less
#    of it. Layer norm is the **control**: it normalizes too, but it takes no mean over the batch.
# 2. **Gradient.** How large is $\|G - G'\| / \|G\|$ in each layer? Santurkar et al. report for their networks that batch norm does
#    **not** lower their measure: it was as large as without, often larger. Does this hold here?
# 3. **Modes.** How large is the gap between batch and running statistics in the course of training, for a momentum of 0.1 and of 0.01, and what
#    does re-estimation make of it?
#
# What is held fixed: 100 updates with batches of 64 for everybody, the same batches, one learning rate for all, He's initialization for
# all (with PyTorch's default one, the network without normalization would hardly learn: a difference in the start would pass for
# one in normalization), five seeds, and your functions.
#
# Say now what you expect, for each question. What would you have to see to give up the sentence at the top of this lab?
#
# The data are the 1797 handwritten digits of scikit-learn, 8 x 8 pixels. All of it takes 10 to 30 seconds.

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-networks", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

KINDS = {"no norm": nn.Identity, "batch norm": nn.BatchNorm1d, "layer norm": nn.LayerNorm}
UPDATES, EVERY, RATE, SEEDS, BUDGET_S = 100, 10, 0.1, (0, 1, 2, 3, 4), 40

pixels, digits = load_digits(return_X_y=True)
order = torch.randperm(len(digits), generator=torch.Generator().manual_seed(0))
images, digits = torch.tensor(pixels, dtype=torch.float32)[order], torch.tensor(digits)[order]
train_images, train_digits = images[:1347], digits[:1347]
test_images, test_digits = images[1347:], digits[1347:]
mean, std = train_images.mean(), train_images.std()  # of the training part only
train_images, test_images = (train_images - mean) / std, (test_images - mean) / std
probe = test_images[:200]
draws = torch.Generator().manual_seed(1)
batches = [torch.randperm(len(train_images), generator=draws)[:64] for _ in range(UPDATES)]


def maker(norm):
    """Return make(seed): four hidden layers of 64 units; one seed gives the same linear layers for every kind of norm."""

    def make(seed):
        torch.manual_seed(seed)
        linear = [nn.Linear(64, 64) for _ in range(4)] + [nn.Linear(64, 10)]
        for layer in linear:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        hidden = [module for layer in linear[:-1] for module in (layer, norm(64), nn.ReLU())]
        return nn.Sequential(*hidden, linear[-1])

    return make


makers, started = {kind: maker(norm) for kind, norm in KINDS.items()}, time.thread_time()


def seeds_in_time(seconds, begun):
    """Return as many seeds as fit into the budget, by the time that two of them took."""
    fitting = min(len(SEEDS), int(2 * (BUDGET_S / 3) / (seconds - begun)))
    if fitting < len(SEEDS):
        print(f"Your functions are slow here: {fitting} of {len(SEEDS)} seeds fit into the budget of {BUDGET_S} s.")
    if fitting < 2:
        raise RuntimeError(f"Not even two seeds fit into {BUDGET_S} s of CPU time; do your functions loop over units?")
    return SEEDS[:fitting]


compare(
    makers, SEEDS[:2], train_images, train_digits, batches[:5], RATE, probe
)  # a short one, to see how long it takes
seeds = seeds_in_time(started + (time.thread_time() - started) * UPDATES / 5, started)
drifts = compare(makers, seeds, train_images, train_digits, batches, RATE, probe)

print(f"Drift per update in standard deviations, mean +- standard deviation of {len(seeds)} seeds")
print(f"{'':12s}" + "".join(f"linear layer {k}    " for k in range(5)))
for kind, (centre, bar) in drifts.items():
    print(f"{kind:12s}" + "".join(f"{m:.4f} +- {s:.4f}  " for m, s in zip(centre, bar, strict=True)))

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-gradients", "locked": true, "schema_version": 3, "solution": false, "task": false}
if "seeds" not in globals():
    raise RuntimeError("There is nothing to compare yet: the cell of the drifts, above, must run to its end first.")

turns, errors, started = {}, {}, time.thread_time()
for kind in KINDS:
    runs, ends = [], []
    for seed in seeds:
        if time.thread_time() - started > BUDGET_S:
            raise RuntimeError(
                f"The gradients took more than {BUDGET_S} s of CPU time; make SEEDS shorter and try again."
            )
        model, rows = makers[kind](seed), []
        for k in range(0, UPDATES, EVERY):
            x, y = train_images[batches[k]], train_digits[batches[k]]  # the batch of the next update
            told = [gradient_change(model, x, y, layer, RATE) for layer in range(5)]
            rows.append([(float(t["change"]) / float(t["norm"]), float(t["cosine"])) for t in told])
            track_training(model, train_images, train_digits, batches[k : k + EVERY], RATE, probe[:2])
        runs.append(torch.tensor(rows).mean(dim=0))  # over the updates: (layers, 2)
        with torch.no_grad():
            wrong = copy.deepcopy(model).eval()(test_images).argmax(dim=1) != test_digits
        ends.append(100 * wrong.double().mean())
    runs, ends = torch.stack(runs), torch.stack(ends)
    turns[kind], errors[kind] = (runs.mean(dim=0), runs.std(dim=0)), (ends.mean(), ends.std())

print(f"||G - G'|| / ||G||, every {EVERY} updates, mean +- standard deviation of {len(seeds)} seeds (and the cosine)")
print(f"{'':12s}" + "".join(f"{f'linear layer {k}':24s}" for k in range(5)))
for kind, (centre, bar) in turns.items():
    cells = [f"{m[0]:.3f} +- {s[0]:.3f} ({m[1]:5.2f})  " for m, s in zip(centre, bar, strict=True)]
    print(f"{kind:12s}" + "".join(cells))
print("Test error in % after these updates, in evaluation mode:")
print("   " + ", ".join(f"{kind} {m:.1f} +- {s:.1f}" for kind, (m, s) in errors.items()))

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-modes", "locked": true, "schema_version": 3, "solution": false, "task": false}
if "seeds" not in globals():
    raise RuntimeError("There is nothing to compare yet: the cell of the drifts, above, must run to its end first.")

MOMENTA, LOOKS = (0.1, 0.01), (5, 10, 20, 50, 100)
modes, started = {}, time.thread_time()
for momentum in MOMENTA:
    runs = []
    for seed in seeds:
        if time.thread_time() - started > BUDGET_S:
            raise RuntimeError(f"The modes took more than {BUDGET_S} s of CPU time; make SEEDS shorter and try again.")
        model, rows, done = makers["batch norm"](seed), [], 0
        for module in model:
            if isinstance(module, nn.BatchNorm1d):
                module.momentum = momentum
        for look in LOOKS:
            track_training(model, train_images, train_digits, batches[done:look], RATE, probe[:2])
            done, precise = look, copy.deepcopy(model)
            reestimate(precise, [train_images[batch] for batch in batches[:20]])
            told, closed = (train_eval_gap(m, test_images, test_digits) for m in (model, precise))
            rows.append([float(n) for n in (told["batch"], told["running"], closed["running"], told["changed"])])
        runs.append(torch.tensor(rows))
    modes[momentum] = torch.stack(runs)  # (seeds, looks, 4)

print(f"Loss on the test images, mean +- standard deviation of {len(seeds)} seeds")
print("momentum  updates   batch statistics   running statistics   re-estimated     changed predictions")
for momentum, runs in modes.items():
    for k, look in enumerate(LOOKS):
        cells = [f"{m:.3f} +- {s:.3f}" for m, s in zip(runs.mean(0)[k], runs.std(0)[k], strict=True)]
        print(f"{momentum:8g}  {look:7d}   {cells[0]}     {cells[1]}       {cells[2]}   {cells[3]}")

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
if not (set(globals()) >= {"drifts", "turns", "modes"}):
    raise RuntimeError("There is nothing to draw yet: the three cells above must run to their ends first.")

figure, panels = plt.subplots(1, 3, figsize=(14, 4), constrained_layout=True)
styles = {"no norm": ("#707070", "^"), "batch norm": ("#c1440e", "o"), "layer norm": ("#1f5fa8", "s")}
for shift, (kind, (colour, marker)) in enumerate(styles.items()):
    place = [layer + 0.07 * (shift - 1) for layer in range(5)]  # side by side: no bar hides another
    look = {"color": colour, "marker": marker, "capsize": 3, "label": kind}
    panels[0].errorbar(place, drifts[kind][0], yerr=drifts[kind][1], **look)
    centre, bar = turns[kind]
    panels[1].errorbar(place, centre[:, 0], yerr=bar[:, 0], **look)
panels[0].set(title="Drift of the means per update", xlabel="linear layer", ylabel="standard deviations", yscale="log")
panels[1].set(title="Change of the gradient", xlabel="linear layer", ylabel="||G - G'|| / ||G||", ylim=(0, None))
for panel in panels[:2]:
    panel.set_xticks(range(5))
    panel.legend(frameon=False)
lines = {0.1: "#c1440e", 0.01: "#1f5fa8"}
for momentum, runs in modes.items():
    centre, bar = runs.mean(0), runs.std(0)
    for column, style, what in ((1, "-", "running statistics"), (2, ":", "re-estimated")):
        panels[2].errorbar(
            LOOKS, centre[:, column], yerr=bar[:, column], color=lines[momentum], ls=style, capsize=3,
            label=f"{what}, momentum {momentum:g}",
        )  # fmt: skip
panels[2].plot(LOOKS, modes[0.1].mean(0)[:, 0], color="#000000", lw=1, label="batch statistics")
panels[2].set(title="Loss on the test images", xlabel="updates", ylabel="cross-entropy", xscale="log", yscale="log")
panels[2].set_xticks(LOOKS, [str(look) for look in LOOKS])
panels[2].set_yticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
panels[2].minorticks_off()
panels[2].legend(frameon=False, fontsize=8)
plt.show()

# %% [markdown]
# **Read it with care.** Bars are standard deviations over seeds of one small network, one small data set, and one learning rate that
# was tuned for nobody. Three things speak against a quick conclusion:
#
# - **Batch norm's small drift is half made by where we look.** In front of a batch norm, the mean of a unit over the batch is
#   subtracted at once. The loss does not depend on it, so its gradients sum to zero over the batch, and no update pushes
#   it. A measure that a method makes small by construction says little about why the method works. (Behind the norm it
#   would be worse: there the mean of every unit is `bias` by definition.)
# - **The control decides.** Put the test errors of the three kinds beside their drifts. Does the kind with the most drift learn worst? Does
#   layer norm do whatever it does by less drift?
# - **A result that is not reproduced is not refuted.** Santurkar et al. looked at VGG networks on CIFAR-10 and at deep linear networks, with
#   learning rates of their own. If your second panel disagrees with them, then the claim "batch norm does not lower this measure"
#   does not hold for *all* networks. That is what this panel can say, and no more.
#
# The chapter [Core Concepts](../../book/core-concepts.md) lists what else was found for and against: noise injected *behind* batch norm
# brings the shift back and hardly harms training; batch norm smooths the loss; it permits larger learning rates; at the start of very deep plain
# networks it even makes gradients explode. No account of why it works is agreed upon.

# %% [markdown]
# ## 10. A written answer (6 points, graded by a person)
#
# In about 200 words, with numbers from **your** tables and figure:
#
# **(a)** What do your drift and your gradient measure say about "batch norm reduces internal covariate shift", for the network with batch norm
# and for the control with layer norm? Give numbers with their bars, and say whether the result of Santurkar et al. is reproduced.
# **(b)** Does this show that batch norm trains well *because* it reduces the shift? Name one thing in your results that speaks against it, and
# one reason why the small drift in front of a batch norm may be made by the measurement.
# **(c)** Where does the gap between the modes come from, why is it so large at momentum 0.01, and what does re-estimation change? What would you
# report for this network, and why not the number in training mode?
#
# How it is graded, two points for each part:
#
# | | 2 points | 1 point | 0 points |
# |---|---|---|---|
# | (a) | both measures, both normalizations, with bars, and says plainly that the result is (not) reproduced in this setting | one of the measures or one of the normalizations, or no bars | no numbers of the run |
# | (b) | one piece of evidence (such as: equal test errors with very unequal drifts, or layer norm with as much drift as none) and the reason (the loss does not see the mean in front of a batch norm) | only one of the two | neither, or the claim is simply repeated |
# | (c) | running statistics lag behind (with momentum 0.01 more than a third of the weight is still on the start after 100 updates), re-estimation removes the lag, and the evaluation-mode number is what will be used | two of the three | fewer |

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-answer", "locked": false, "points": 6, "schema_version": 3, "solution": true, "task": false}
# (a) Drift per update: with batch norm 0.003 to 0.017 standard deviations (bars at most 0.001), without norm from 0.036 +- 0.002
# in the first layer to 0.36 +- 0.04 in the last, with layer norm 0.031 +- 0.002 to 0.29 +- 0.05. Change of the gradient in layers 1 to 4:
# batch norm 0.29, 0.34, 0.31, 0.20 (bars 0.01 to 0.03), no norm 0.41, 0.67, 0.85, 1.04, layer norm 0.47, 0.76, 0.88, 0.87 (bars to 0.09).
# So by both measures batch norm lowers the shift here, and layer norm does not. The result of Santurkar et al., that batch norm does not
# lower their measure, is not reproduced in this setting: one small network, one learning rate, 100 updates.
#
# (b) No. After 100 updates the test errors are equal within the bars: 4.4 +- 1.0 (none), 4.6 +- 1.1 (batch norm), 4.8 +- 0.7 (layer
# norm), with drifts that differ a hundredfold. Less shift has not bought anything here, and layer norm does what it does with as much shift as
# no norm. Besides, the loss does not see the mean in front of a batch norm, which is subtracted at once. So its gradient sums to
# zero over the batch and nothing pushes that mean: the small drift is partly made by the place where we measure.
#
# (c) The running statistics lag behind the weights. With momentum 0.01 the start (0 and 1) still weighs 0.99^100 = 37 % after 100
# updates: loss 0.455 against 0.207 with batch statistics, and 11 % of the predictions change. With momentum 0.1 the gap is large at 5 updates
# (2.02 against 1.66) and gone at 50. Re-estimation gives 0.208 at once. I would report the loss in evaluation mode after
# re-estimation, since that is what will run; in training mode an answer depends on which examples share the batch.

# %% [markdown]
# ## 11. Stretch (no points)
#
# **Another learning rate.** Repeat the second panel for rates of 0.03, 0.3 and 1. Does the order of the three kinds stay? Which of them still
# learns at 1? (Compare at the rate that is best for each, too. Which comparison is fair?)
#
# **Behind the norm.** Change your hooks so that they measure what goes *into the ReLU*, in all three kinds of networks. What is batch norm's drift
# now, and could it have been anything else?
#
# **Shift on purpose.** Write a module that multiplies by $s$ and adds $m$, with $m$ drawn anew for each unit at each update from $-0.5$ to $0.5$ and
# $s$ from 1 to 1.25, in training mode only. Put it behind every batch norm. How large is the drift behind it, and what happens to the test
# error? Re-estimate before you evaluate.

# %%
# Your own trials go here.
