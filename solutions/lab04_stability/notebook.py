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
# # Lab 4: Stability
#
# **The question.** With batch normalization, the answer for one example depends on the other examples that happen to
# share its batch. How strongly, for which batch sizes, and does it matter for training? An older version of this lab
# meant to measure that, printed four numbers, and measured something else. You find out what, and then you measure
# the real thing.
#
# **When you are done you can**
#
# 1. tell a measurement from an artefact: say what a printed number would have been for any data at all;
# 2. measure how far one example's output and its gradient depend on its batch-mates, for any layer, without
#    disturbing the layer;
# 3. say what batch, layer and group norm do with batches of 1, 2, 4, 32 and 128, and why;
# 4. compare training with different batch sizes fairly: equal updates, several seeds, error bars, both modes.
#
# **Time:** 60 to 90 minutes. **Points:** 75, of which 69 are given by the machine and 6 by a person.
#
# **Read with it:** the chapter [Key Challenges](../../book/key-challenges.md) of the course book, from "Small batches" on; for
# the formulas, [Mathematical Formulation](../../book/mathematical-formulation.md). If you have this notebook alone, you find
# the book at <https://github.com/normalization-course/normalization-course>.

# %% [markdown]
# ## How this lab is graded
#
# - Cells that say `# YOUR CODE HERE` are yours. Write there, and add cells of your own wherever you like.
# - A cell with one line, `check("...")`, tries your work on fixed public examples, here and offline. It says which
#   example fails first and gives you a call that you can paste and run. It gives no grade.
# - For the grade, your functions are asked about **other models, numbers and shapes**, drawn anew. A solution that fits only
#   the public examples gets nothing. Leave the `check` cells as they are: changing them changes no grade.
# - What is asked is written here in full.
#
# **What may be used.** Everything in PyTorch. In this lab you measure layers, so `nn.BatchNorm1d`, `nn.LayerNorm` and their
# relatives are welcome, and so are `autograd`, `torch.optim` and `nn.functional`. One exception: leave `torch.func` aside,
# which refuses layers that write down running statistics. Any honest style is fine: loops or none, other names
# inside, helper functions, prints.
#
# ### Rules for all functions of this lab
#
# The functions are graded on models that the grader makes, so what they may assume stands here, once.
#
# - **A `layer` or `model`** is any `nn.Module` that takes a batch `(m, C)` and returns `(m, D)`: one normalization layer, or an
#   `nn.Sequential` of several modules, nested or not. $D$ may differ from $C$. It arrives in **training mode or in
#   evaluation mode**.
# - **The mode is yours to choose.** Whenever a task says "in training mode", the function works in training mode, whatever mode
#   the layer arrives in.
# - **Leave no trace.** After the call the layer is as it was: the mode of every module inside, all parameters and buffers
#   (also `running_mean`, `running_var` and `num_batches_tracked`), its hooks, and of each parameter the `.grad` and
#   `requires_grad`. The tensors among the arguments are unchanged too, their `.grad` and `requires_grad` included, and so are the
#   lists and dictionaries: nothing is added to them or taken out. Only `train_on_batches` may change a model, and its task
#   says what. How you do this is up to you: work on a copy, or put everything back.
# - **Exceptions of the layer pass through**, as they are. Only `stability_table` catches one kind.
# - **Nothing is drawn at random.** Which companions, which batches: all of it is an argument.
# - **float64 and float32** both work, also for tensors that are not contiguous. A tensor that is returned has the dtype of the
#   model's outputs, or of the tensor that was given where there is no model. "A number" is a Python `float`; a tensor with one
#   element is accepted.
# - Arguments may be given **by position or by keyword**, with the names written here.
#
# A function may use your earlier functions. Mind the price: a fault in a function that another one uses can cost points in both.

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
# The two experiments also need `matplotlib` and `scikit-learn`; the rest does not.

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

import copy
import math

print("torch", torch.__version__)

# %% [markdown]
# ## 1. A number that looks like a measurement
#
# The first version of this lab did the following for batch sizes $m = 1, 4, 32, 128$, and called what it printed "stability":
#
# ```python
# bn = nn.BatchNorm1d(100)                # in training mode
# x = torch.randn(m, 100)
# print(bn(x).std(dim=0).mean())          # the same with nn.LayerNorm(100)
# ```
#
# `Tensor.std` divides by $m - 1$ when nothing else is said: it is the root of the **unbiased** variance. Batch norm
# divides by the root of the **biased** one (plus a tiny `eps`, which you may take as 0 here).
#
# ### Predict first (4 points)
#
# With pencil and paper. Each answer is one number, right to two decimals; the checks only note what you say, and you
# will see below whether it was true.
#
# - `predicted_printed`: what does the code print for batch norm and $m = 4$?
# - `predicted_printed_scaled`: what does it print for batch norm and $m = 4$ when `x` is replaced by `1000 * x + 50`?
#
# Two more, about what we want to know instead. In a batch of two examples with one feature, batch norm (`eps=0`, weight 1,
# bias 0) turns `x0` and its companion into two numbers. Keep `x0 = 0` and give it, one after another, the companions
# $-3$, $-0.2$, $1$ and $40$: four batches, four outputs for `x0`.
#
# - `predicted_spread_of_two`: the root of the **biased** variance of these four outputs.
# - `predicted_leak_layer_norm`: two examples with 3 features each go through `nn.LayerNorm(3)`. How long (Euclidean norm) is
#   the gradient of the first example's output with respect to the **second** example's input?

# %% nbgrader={"grade": false, "grade_id": "solve-predictions", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_printed = None
predicted_printed_scaled = None
predicted_spread_of_two = None
predicted_leak_layer_norm = None
### BEGIN SOLUTION
predicted_printed = (4 / 3) ** 0.5  # the biased variance is 1, the unbiased one 4/3
predicted_printed_scaled = (4 / 3) ** 0.5  # batch norm takes the 1000 and the 50 out again
predicted_spread_of_two = 1.0  # two values, half a difference each from their mean: the outputs are 1, 1, -1, -1
predicted_leak_layer_norm = 0.0  # the second example is not in the first one's set
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "stab-predict-printed", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("stab-predict-printed")

# %% nbgrader={"grade": true, "grade_id": "stab-predict-scaled", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("stab-predict-scaled")

# %% nbgrader={"grade": true, "grade_id": "stab-predict-spread", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("stab-predict-spread")

# %% nbgrader={"grade": true, "grade_id": "stab-predict-leak", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("stab-predict-leak")

# %% [markdown]
# ### What does it print? (3 points)
#
# `printed_stability(m)` takes a batch size, an `int`, and returns the number that the code above prints for batch norm with
# batches of `m`, for **any** data (with `eps` taken as 0, weight 1, bias 0, and no feature constant in the batch). It needs no
# tensor and no layer. For `m` below 2 it raises `ValueError`, as batch norm does.


# %% nbgrader={"grade": false, "grade_id": "solve-printed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def printed_stability(m):
    """Return what the first version printed for batch norm with batches of m; ValueError for m < 2."""
    ### BEGIN SOLUTION
    if m < 2:
        raise ValueError(f"batch norm needs at least two values per feature; a batch of {m} was given")
    return math.sqrt(m / (m - 1))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "stab-printed", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("stab-printed")

# %% [markdown]
# Now let the first version run, on three kinds of data. If one column of your function does not agree with the others, find out why
# before you go on.

# %% nbgrader={"grade": false, "grade_id": "first-version", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("  m    randn   1000 x + 50   digits of pi   printed_stability(m)")
pi = torch.tensor([float(digit) for digit in "31415926535897932384626433832795"]).view(32, 1)
for m in (4, 8, 32):
    x = torch.randn(m, 100, generator=torch.Generator().manual_seed(m))
    kinds = (x, 1000 * x + 50, pi[:m])
    printed = [nn.BatchNorm1d(k.shape[1])(k).std(dim=0).mean().item() for k in kinds]
    print(f"{m:3d}   {printed[0]:.4f}   {printed[1]:11.4f}   {printed[2]:12.4f}   {printed_stability(m):20.4f}")

# %% [markdown]
# ## 2. One example among others
#
# What *should* be measured? Take **one** example $x_0$, put it into many batches with different companions, and watch **its own**
# output. If it moves, the companions moved it.
#
# ### Its outputs (10 points)
#
# `outputs_with_companions(layer, x0, companions)` returns a tensor of shape `(K, D)`: row $k$ is the output of `x0`, **in
# training mode**, in a batch with the $k$-th set of companions.
#
# - `x0` has shape `(C,)`, `companions` has shape `(K, m - 1, C)`: $K$ sets of $m - 1$ companions each.
# - Each of the $K$ batches is a batch of its own, of shape `(m, C)`: `x0` in its **first** row, the companions below.
# - $m - 1$ may be 0: then `x0` is alone in its batch. What the layer says to that (an output, or an exception) is the answer.
#
# Remember that calling batch norm in training mode moves its running statistics, also under `torch.no_grad()`, and that
# everything is to be as it was.


# %% nbgrader={"grade": false, "grade_id": "solve-outputs", "locked": false, "schema_version": 3, "solution": true, "task": false}
def outputs_with_companions(layer, x0, companions):
    """Return x0's output in training mode for each set of companions: (C,), (K, m - 1, C) -> (K, D)."""
    ### BEGIN SOLUTION
    measured = copy.deepcopy(layer).train()  # a copy: what training mode writes down is thrown away with it
    with torch.no_grad():
        return torch.stack([measured(torch.cat([x0[None], others]))[0] for others in companions])
    ### END SOLUTION


# %% [markdown]
# **The outputs** (6 points), **no trace left** (4 points)

# %% nbgrader={"grade": true, "grade_id": "stab-outputs", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check("stab-outputs")

# %% nbgrader={"grade": true, "grade_id": "stab-outputs-manners", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("stab-outputs-manners")

# %% [markdown]
# ### One number for how far they lie apart (4 points)
#
# `spread(outputs)` takes the `(K, D)` outputs of $K$ draws and returns one number. For each feature take the **biased**
# variance over the $K$ draws (divide by $K$). Then take the **mean over the $D$ features**, and at the end the **root**:
#
# $$
# \text{spread} = \sqrt{\frac1D \sum_{d} \frac1K \sum_{k} (y_{kd} - \bar y_d)^2}, \qquad \bar y_d = \frac1K \sum_k y_{kd} .
# $$
#
# One draw ($K = 1$) has the spread 0. Outputs with a mean of 100 standard deviations must still be right in float32: subtract
# the mean before you square.


# %% nbgrader={"grade": false, "grade_id": "solve-spread", "locked": false, "schema_version": 3, "solution": true, "task": false}
def spread(outputs):
    """Return the root of the mean over features of the biased variance over draws: (K, D) -> a number."""
    ### BEGIN SOLUTION
    return outputs.var(dim=0, correction=0).mean().sqrt().item()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "stab-spread", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("stab-spread")

# %% [markdown]
# ## 3. Its gradient
#
# The companions do not only move the output. In training mode $\mu$ and $v$ are functions of the whole batch, so the gradient
# that reaches $x_0$ depends on the companions as well, and $x_0$ itself leaks into **their** outputs.
#
# ### The gradient of one example (10 points)
#
# `input_gradients(layer, x0, companions, grad_out)` returns a tensor of shape `(K, C)`: row $k$ is the gradient of
#
# $$ \ell_k = \sum_d \mathtt{grad\_out}_d \; y^{(k)}_{0d} $$
#
# with respect to `x0`, where $y^{(k)}_0$ is the output of `x0`, in training mode, in the batch with the $k$-th companions (built as
# above, $m - 1 = 0$ included). `grad_out` has shape `(D,)`.
#
# - Only the output of `x0` is in $\ell_k$; the outputs of the companions are not.
# - Only `x0` is varied; the companions are constants. `x0` acts on its output directly **and** through the statistics of the batch;
#   both belong to the gradient.
# - The rows do not add up: each draw has its own gradient.
#
# Leave no trace here either: `loss.backward()` writes into `.grad` of every parameter of the layer, and that is one.


# %% nbgrader={"grade": false, "grade_id": "solve-gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def input_gradients(layer, x0, companions, grad_out):
    """Return the gradient of sum(grad_out * y0) with respect to x0 for each set of companions: -> (K, C)."""
    ### BEGIN SOLUTION
    measured = copy.deepcopy(layer).train()
    rows = []
    for others in companions:
        leaf = x0.detach().clone().requires_grad_()  # a new leaf for each draw
        loss = (grad_out * measured(torch.cat([leaf[None], others]))[0]).sum()
        rows.append(torch.autograd.grad(loss, leaf)[0])
    return torch.stack(rows)
    ### END SOLUTION


# %% [markdown]
# **The gradients** (6 points), **no trace left** (4 points)

# %% nbgrader={"grade": true, "grade_id": "stab-gradients", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check("stab-gradients")

# %% nbgrader={"grade": true, "grade_id": "stab-gradients-manners", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("stab-gradients-manners")

# %% [markdown]
# ### The leak from one example to another (7 points)
#
# `leak(layer, x, i, j, grad_out)` returns one number: the Euclidean norm of the gradient of
# $\sum_d \mathtt{grad\_out}_d \, y_{id}$ with respect to row $j$ of the input, `x[j]`. `x` is a batch of shape `(m, C)`, in training
# mode; `grad_out` has shape `(D,)`; `i` and `j` are row numbers from 0. `i` is the example whose **output** is watched, `j` the
# one whose **input** is varied. `i == j` is allowed: then it is the norm of the example's own gradient.


# %% nbgrader={"grade": false, "grade_id": "solve-leak", "locked": false, "schema_version": 3, "solution": true, "task": false}
def leak(layer, x, i, j, grad_out):
    """Return the norm of the gradient of sum(grad_out * y[i]) with respect to x[j], in training mode."""
    ### BEGIN SOLUTION
    leaf = x.detach().clone().requires_grad_()
    y = copy.deepcopy(layer).train()(leaf)
    (gradient,) = torch.autograd.grad((grad_out * y[i]).sum(), leaf)
    return gradient[j].norm().item()
    ### END SOLUTION


# %% [markdown]
# **The leak** (5 points), **no trace left** (2 points)

# %% nbgrader={"grade": true, "grade_id": "stab-leak", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check("stab-leak")

# %% nbgrader={"grade": true, "grade_id": "stab-leak-manners", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("stab-leak-manners")

# %% [markdown]
# Your predictions and your functions. If they differ, one of the two is wrong: find out which before you go on.

# %% nbgrader={"grade": false, "grade_id": "compare-predictions", "locked": true, "schema_version": 3, "solution": false, "task": false}
pair = torch.tensor([[-3.0], [-0.2], [1.0], [40.0]]).view(4, 1, 1)
of_two = spread(outputs_with_companions(nn.BatchNorm1d(1, eps=1e-12), torch.zeros(1), pair))
two_rows = torch.tensor([[1.0, 2.0, 4.0], [3.0, -1.0, 0.0]])
leaked = leak(nn.LayerNorm(3), two_rows, 0, 1, torch.tensor([1.0, -2.0, 0.5]))
print("                            predicted  computed")
print(f"printed, m = 4              {predicted_printed!s:>9.7}  {printed_stability(4):8.4f}")
print(f"printed, 1000 x + 50        {predicted_printed_scaled!s:>9.7}  {printed_stability(4):8.4f}")
print(f"spread in batches of two    {predicted_spread_of_two!s:>9.7}  {of_two:8.4f}")
print(f"leak of layer norm          {predicted_leak_layer_norm!s:>9.7}  {leaked:8.4f}")

# %% [markdown]
# ## 4. The table (8 points)
#
# `stability_table(layers, x0, companions, grad_out=None)` puts it together.
#
# - `layers` is a dictionary from names to layers. `companions` is a tuple (or list) of tensors of shape `(K, m - 1, C)`, one for
#   each batch size; $K$ is the same for all of them or not.
# - It returns a **tensor** of shape `(len(layers), len(companions))`, of the dtype of `x0`: one row for each layer **in the
#   dictionary's order**, one column for each batch size in the given order.
# - Without `grad_out`, an entry is the spread of the outputs of `x0`: `spread(outputs_with_companions(...))`.
#   With `grad_out`, it is the spread of the gradients of `x0`: `spread(input_gradients(...))`.
# - Where a layer refuses a batch with a `ValueError`, the entry is **`nan`**: nothing was measured, and no number may pretend
#   otherwise. The other entries are not touched by that, in the same row either.
# - Whether a layer refuses is **for the layer to say**: layer norm is content with a batch of one.
# - **Any other exception passes through.** A `RuntimeError` because a layer has the wrong width is a bug in the experiment, not a
#   refusal, and must not turn into a quiet `nan`.


# %% nbgrader={"grade": false, "grade_id": "solve-table", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stability_table(layers, x0, companions, grad_out=None):
    """Return the spreads of x0's outputs (or gradients): (layers, batch sizes), nan where a layer refuses."""
    ### BEGIN SOLUTION
    table = torch.full((len(layers), len(companions)), math.nan, dtype=x0.dtype)
    for row, layer in enumerate(layers.values()):
        for column, others in enumerate(companions):
            try:
                if grad_out is None:
                    seen = outputs_with_companions(layer, x0, others)
                else:
                    seen = input_gradients(layer, x0, others, grad_out)
            except ValueError:
                continue
            table[row, column] = spread(seen)
    return table
    ### END SOLUTION


# %% [markdown]
# **The numbers where no layer refuses** (4 points), **the refusals** (3 points), **no trace left** (1 point)

# %% nbgrader={"grade": true, "grade_id": "stab-table", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("stab-table")

# %% nbgrader={"grade": true, "grade_id": "stab-refusals", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("stab-refusals")

# %% nbgrader={"grade": true, "grade_id": "stab-table-manners", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("stab-table-manners")

# %% [markdown]
# > **What the first version of this lab got wrong**
# >
# > 1. **It measured Bessel's correction.** After batch norm every feature has the biased variance 1, by construction. The
# >    default `std` divides by $m - 1$, so what it prints is $\sqrt{m/(m-1)}$: 1.155, 1.016 and 1.004 for $m$ = 4, 32 and
# >    128. The falling numbers look like an effect of the batch size. They are an effect of `std`. *Feed a measurement
# >    with data for which you know another answer; if it says the same, it does not look at the data.*
# > 2. **It could not finish.** Its list of batch sizes begins with 1, where batch norm in training mode raises
# >    `ValueError`: one value per feature has no variance. The table that it promised has never been printed.
# > 3. **It measured layer norm along the wrong axis.** `std(dim=0)` goes down the batch. Layer norm makes
# >    each *row* have variance 1; down the batch nothing is promised, and for $m = 1$ there is only `nan` and a warning.
# > 4. **Its test could not fail.** It asked whether the list had four entries. Any four would do.
# > 5. **Its function was called `test_norm_stability(batch_sizes)`.** A test runner collects everything that is called `test_...`, looks
# >    for something named `batch_sizes` to hand to it, and reports an error. A name is an interface too.

# %% [markdown]
# ## 5. First experiment: one digit in many batches
#
# The data are the 1797 handwritten digits of scikit-learn, 8 x 8 pixels. Three layers share one linear map
# in front; behind it stands batch norm, layer norm, or group norm with 4 groups. Five test images take the part of $x_0$, one
# after another, each with 50 random sets of companions from the training images. Your `stability_table` does the work, and
# the mean and the standard deviation over the five images are shown.
#
# Before you run it: in the row of layer norm, which number do you expect? For batch norm, by which factor should the spread fall
# from $m = 4$ to $m = 32$, if $\mu$ and $v$ are noisy averages over $m$ examples? It takes a few seconds.

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-spread", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

SIZES, DRAWS, IMAGES, FEATURES = (1, 2, 4, 8, 32, 128), 50, 5, 32

pixels, digits = load_digits(return_X_y=True)
order = torch.randperm(len(digits), generator=torch.Generator().manual_seed(0))
images, digits = torch.tensor(pixels, dtype=torch.float32)[order], torch.tensor(digits)[order]
train_images, train_digits = images[:1347], digits[:1347]
test_images, test_digits = images[1347:], digits[1347:]
mean, std = train_images.mean(), train_images.std()  # of the training part only
train_images, test_images = (train_images - mean) / std, (test_images - mean) / std

torch.manual_seed(0)
linear = nn.Linear(64, FEATURES)
layers = {
    "batch norm": nn.Sequential(linear, nn.BatchNorm1d(FEATURES)),
    "layer norm": nn.Sequential(linear, nn.LayerNorm(FEATURES)),
    "group norm": nn.Sequential(linear, nn.GroupNorm(4, FEATURES)),
}


def others(m, draws):
    """Draw DRAWS sets of m - 1 training images."""
    rows = [torch.randperm(len(train_images), generator=draws)[: m - 1] for _ in range(DRAWS)]
    return train_images[torch.stack(rows)]


tables = {"outputs": [], "gradients": []}
for number in range(IMAGES):
    draws = torch.Generator().manual_seed(number)
    companions = tuple(others(m, draws) for m in SIZES)
    upstream = torch.randn(FEATURES, generator=draws)
    tables["outputs"].append(stability_table(layers, test_images[number], companions))
    tables["gradients"].append(stability_table(layers, test_images[number], companions, upstream))

spreads = {what: torch.stack(found) for what, found in tables.items()}  # (images, layers, sizes)
for what, found in spreads.items():
    print(f"Spread of the {what} of one example, mean +- standard deviation over {IMAGES} images")
    print("              " + "".join(f"{f'm = {m}':>18s}" for m in SIZES))
    for name, centre, bar in zip(layers, found.mean(0), found.std(0), strict=True):
        print(f"{name:14s}" + "".join(f"{c:8.1e} +- {b:6.0e}" for c, b in zip(centre, bar, strict=True)))

# %% [markdown]
# A number near $10^{-7}$, if you see one, is what float32 leaves of a zero. Note the column $m = 2$ for the gradients: where the two examples
# of a batch nearly agree in a feature, $v$ is tiny and the gradient is huge; where they do not, the output is just a sign and
# the gradient nearly nothing.

# %% [markdown]
# ## 6. Does it matter for training?
#
# A single layer that shakes is one thing; a network that learns worse is another. To compare batch sizes **fairly**, three
# things must be settled: how many updates each one gets, which examples stand in which batch, and how far two runs lie apart
# that differ in nothing but luck.
#
# ### Train on given batches (10 points)
#
# `train_on_batches(model, x, classes, batches, lr)` trains a classifier by **plain gradient descent** and returns the list of its
# losses.
#
# - `x` has shape `(n, C)`, `classes` has shape `(n,)` (int64). `batches` is a tuple or list of int64 tensors of shape `(m,)`, which may
#   differ in `m`: each holds the row numbers of one batch.
# - For each batch, in order, there is exactly **one update**. The loss is the **mean** cross-entropy over the batch, of the outputs of the
#   model as they are (`nn.functional.cross_entropy` takes numbers before the softmax). Every parameter $p$ becomes
#   $p - \mathtt{lr} \cdot \partial \ell / \partial p$: no momentum, no weight decay, no scaling, nothing left from earlier batches.
# - It returns a **list** (or tuple) with one number for each batch: its loss **before** its update.
# - The model is trained **in place and in training mode**, whatever mode it arrives in, so its running statistics move as usual.
# - At the end every module **has the mode that it came with**; no hook is left; `x`, `classes` and `batches` are unchanged. What
#   stands in `.grad` afterwards does not matter.
# - No batches: an empty list, and nothing changes. If the model refuses a batch, its exception passes through.


# %% nbgrader={"grade": false, "grade_id": "solve-train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_on_batches(model, x, classes, batches, lr):
    """Do one step of plain gradient descent for each batch of row numbers; return the losses before each step."""
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), classes[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for module, mode in modes.items():
        module.training = mode
    return losses
    ### END SOLUTION


# %% [markdown]
# **The losses** (3 points), **the model's parameters and buffers afterwards** (5 points), **modes, hooks and data** (2 points)

# %% nbgrader={"grade": true, "grade_id": "stab-losses", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("stab-losses")

# %% nbgrader={"grade": true, "grade_id": "stab-updates", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check("stab-updates")

# %% nbgrader={"grade": true, "grade_id": "stab-train-manners", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("stab-train-manners")

# %% [markdown]
# ### The error, in both modes (9 points)
#
# `error_rate(model, x, classes, batch_size=None)` returns the **share of wrong answers**, a number from 0 to 1. The answer for an
# example is the class with the largest output.
#
# - `batch_size=None`: in **evaluation mode**, over all $n$ examples (which may be a single one).
# - `batch_size=b` (an `int` from 1 to $n$): in **training mode**, so with the statistics of each batch, in **consecutive** batches of
#   exactly `b`: rows 0 to $b-1$, rows $b$ to $2b-1$, and so on, in the order of `x`. A **smaller batch at the end is left out**, and its
#   examples are not counted at all, neither as wrong nor as seen. If the model refuses, its exception passes through.
#
# Here, too, leave no trace, in both cases.


# %% nbgrader={"grade": false, "grade_id": "solve-error", "locked": false, "schema_version": 3, "solution": true, "task": false}
def error_rate(model, x, classes, batch_size=None):
    """Return the share of wrong answers: in evaluation mode, or with batch statistics in batches of a size."""
    ### BEGIN SOLUTION
    judged = copy.deepcopy(model).train(batch_size is not None)
    size = batch_size or len(x)
    counted = len(x) // size * size
    with torch.no_grad():
        answers = torch.cat([judged(part).argmax(dim=1) for part in x[:counted].split(size)])
    return (answers != classes[:counted]).double().mean().item()
    ### END SOLUTION


# %% [markdown]
# **Evaluation mode** (2 points), **batch statistics** (4 points), **no trace left** (3 points)

# %% nbgrader={"grade": true, "grade_id": "stab-error-evaluation", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("stab-error-evaluation")

# %% nbgrader={"grade": true, "grade_id": "stab-error-batch", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("stab-error-batch")

# %% nbgrader={"grade": true, "grade_id": "stab-error-manners", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("stab-error-manners")

# %% [markdown]
# ### Several seeds (4 points)
#
# `seed_summary(values)` takes a tensor of shape `(S, B)`: one row for each of $S$ seeds, one column for each of $B$ batch sizes. It
# returns a tuple `(mean, std)` of two tensors of shape `(B,)`: the mean over the seeds, and the standard deviation over the seeds with the
# divisor $S - 1$ (**unbiased** variance: here the seeds *are* a sample, and we want to know how far runs lie apart, not how well the
# mean is known). For a single seed the standard deviation is **`nan`**: one run says nothing about how far two lie apart.


# %% nbgrader={"grade": false, "grade_id": "solve-seeds", "locked": false, "schema_version": 3, "solution": true, "task": false}
def seed_summary(values):
    """Return the mean and the standard deviation (divisor S - 1) over the seeds: (S, B) -> (B,), (B,)."""
    ### BEGIN SOLUTION
    return values.mean(dim=0), values.std(dim=0, correction=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "stab-seeds", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("stab-seeds")

# %% [markdown]
# ## 7. Second experiment: the sweep over batch sizes
#
# Now your functions answer the question. Networks with two hidden layers of 64 units learn the digits, with batch, layer or group norm
# (4 groups), in batches of 2, 4, 8 and 32. Held fixed for all of them:
#
# - **500 updates**, one learning rate, and for one seed the same starting weights and the same batches for all three norms;
# - so a network with batches of 2 sees 1000 images, and one with batches of 32 sees 16 000. Small batches do worse for that
#   reason alone. Layer norm and group norm, which do not look at the batch, are the **control**: only what they do not show can be
#   blamed on batch statistics.
#
# Each network is judged in evaluation mode, and with batch statistics in batches of the size that it was trained with.
# Five seeds; the bars are standard deviations over seeds.
#
# Say now: at which batch size will batch norm fall behind its controls by more than the bars? What would you have to see to
# give up your explanation? It takes 10 to 30 seconds.

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-sweep", "locked": true, "schema_version": 3, "solution": false, "task": false}
BATCH_SIZES, UPDATES, RATE, SEEDS, WIDTH, BUDGET_S = (2, 4, 8, 32), 500, 0.03, 5, 64, 40
NORMS = {
    "batch norm": lambda: nn.BatchNorm1d(WIDTH),
    "layer norm": lambda: nn.LayerNorm(WIDTH),
    "group norm": lambda: nn.GroupNorm(4, WIDTH),
}


def network(norm, seed):
    """Two hidden layers; one seed gives the same linear weights with every norm."""
    torch.manual_seed(seed)
    linears = [nn.Linear(64, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 10)]
    return nn.Sequential(linears[0], norm(), nn.ReLU(), linears[1], norm(), nn.ReLU(), linears[2])


def drawn_batches(size, seed):
    """UPDATES batches of different rows; the same seed draws the same batches."""
    draws = torch.Generator().manual_seed(1000 * seed + size)
    return [torch.randperm(len(train_images), generator=draws)[:size] for _ in range(UPDATES)]


def judged(norm, size, seed):
    """Train one network; return its test errors in %: in evaluation mode, with batch statistics."""
    model = network(norm, seed)
    train_on_batches(model, train_images, train_digits, drawn_batches(size, seed), RATE)
    return [100 * error_rate(model, test_images, test_digits, b) for b in (None, size)]


runs, started = [], time.thread_time()  # (seeds, norms, sizes, modes)
for seed in range(SEEDS):
    this_seed = []
    for norm in NORMS.values():
        if time.thread_time() - started < BUDGET_S:
            this_seed.append([judged(norm, size, seed) for size in BATCH_SIZES])
    if len(this_seed) < len(NORMS):
        print(f"Stopped after {BUDGET_S} s of CPU time: {seed} of {SEEDS} seeds are complete; only those count.")
        break
    runs.append(this_seed)
if not runs:
    raise RuntimeError(f"No seed was complete in {BUDGET_S} s of CPU time; do your functions loop over examples?")

errors = torch.tensor(runs)
print(f"Test error in %, mean +- standard deviation of {len(errors)} seeds, {UPDATES} updates each")
print("                          " + "".join(f"{f'batches of {b}':>16s}" for b in BATCH_SIZES))
for number, name in enumerate(NORMS):
    for column, mode in enumerate(("evaluation", "batch")):
        centre, bar = seed_summary(errors[:, number, :, column])
        cells = "".join(f"{c:8.1f} +- {b:4.1f}" for c, b in zip(centre, bar, strict=True))
        print(f"{name}, {mode + ' mode' if column == 0 else 'batch stat.':16s}" + cells)

# %% tags=["skip-when-grading"] nbgrader={"grade": false, "grade_id": "experiment-figure", "locked": true, "schema_version": 3, "solution": false, "task": false}
if not globals().get("runs"):
    raise RuntimeError("There is no trained network yet: the cell above must run to its end first.")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
styles = {"batch norm": ("#c1440e", "o"), "layer norm": ("#1f5fa8", "s"), "group norm": ("#3a7d44", "^")}
for what, line in (("outputs", "-"), ("gradients", "--")):
    found = spreads[what][:, 0, 1:]  # batch norm, from m = 2
    centre, bar = found.mean(0), found.std(0)
    left.errorbar(SIZES[1:], centre, yerr=bar, color="#c1440e", linestyle=line, marker="o", capsize=3, label=what)
scale = spreads["outputs"][:, 0, 2].mean().item() * 2
left.plot(SIZES[1:], [scale / m**0.5 for m in SIZES[1:]], color="#707070", linestyle=":", label="$1/\\sqrt{m}$")
left.set_xscale("log", base=2)
left.set_yscale("log")
left.set_xticks(SIZES[1:], [str(m) for m in SIZES[1:]])
left.set(xlabel="batch size m", ylabel="spread over random companions")
left.set_title("Batch norm: one example among others")
left.legend(frameon=False)
for number, (name, (colour, marker)) in enumerate(styles.items()):
    for column, line in enumerate(("-", "--")):
        if name != "batch norm" and column == 1:
            continue  # for the others both modes are the same
        centre, bar = seed_summary(errors[:, number, :, column])
        place = [b * 1.06 ** (number - 1 + column / 2) for b in BATCH_SIZES]  # side by side: no bar hides another
        label = name if column == 0 else name + ", batch statistics"
        right.errorbar(place, centre, yerr=bar, color=colour, marker=marker, linestyle=line, capsize=3, label=label)
right.set_xscale("log", base=2)
right.set_xticks(BATCH_SIZES, [str(b) for b in BATCH_SIZES])
right.set(xlabel="batch size in training", ylabel="test error (%)", ylim=(0, None))
right.set_title(f"The same {UPDATES} updates for every batch size")
right.legend(frameon=False)
plt.show()

# %% [markdown]
# **Read it with care.** The bars are standard deviations over seeds of one small network on one small data set, with one learning rate that
# was tuned for nobody. Each feature has $m$ values here because there are no pixels behind it; a convolution on images
# has $m = N H W$, and batches of 2 images are then no batches of 2 values. What your own run shows is the evidence; if it
# disagrees with what you read elsewhere, write what you see.

# %% [markdown]
# ## 8. A written answer (6 points, graded by a person)
#
# In about 150 words, with numbers from **your** tables and figure:
#
# **(a)** What did the first version's number measure, and by which test could its author have found that out?
# **(b)** How do the spreads of outputs depend on the batch size for the three norms, and why? Give the factor between two batch sizes and
# say what happens at $m = 1$ and $m = 2$.
# **(c)** At which batch size does batch norm fall behind in the sweep by more than the bars, which part of its error is due to the mode,
# and what do layer and group norm tell you about the cause?
#
# How it is graded, two points for each part:
#
# | | 2 points | 1 point | 0 points |
# |---|---|---|---|
# | (a) | names Bessel's correction $\sqrt{m/(m-1)}$, and a test on other data (scaled, shifted, another layer) | one of the two | neither |
# | (b) | batch norm falls about as $1/\sqrt m$ with numbers; the others are 0 up to rounding because their set holds one example; refusal at 1, signs at 2 | two of the three | fewer |
# | (c) | a size with numbers and bars, both modes compared, and the controls used to separate "few images seen" from "noisy statistics" | two of the three | fewer |

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-answer", "locked": false, "points": 6, "schema_version": 3, "solution": true, "task": false}
# (a) It measured Bessel's correction: batch norm makes the biased variance 1, and std divides by m - 1, so the number is
# sqrt(m / (m - 1)) for any data. Printing it for 1000 x + 50, or for numbers that are not random at all, would have shown it.
#
# (b) Batch norm's outputs have the spread 0.80 at m = 2, 0.58 at 4 and 0.21 at 32: a factor of 2.8 from 4 to 32, as 1 / sqrt(m)
# says, since mu and v are averages over m examples. Layer norm and group norm stay at 0, or at rounding: their set lies
# within one example. At m = 1 batch norm refuses (nan); at m = 2 every output is a sign, and the gradient spread is 4.
#
# (c) At 2 only: 42 +- 2 % against 12 +- 2 and 8 +- 3 % for the controls; at 4 the bars overlap. With batch statistics the error at 2 is
# 67 %, so the mode is worth 25 points, and at 4 still 17, although evaluation mode costs nothing there. The controls saw the same few
# images, which explains about 10 % and not 42: the rest is noise of the statistics.

# %% [markdown]
# ## 9. Stretch (no points)
#
# **Two examples.** Show on paper that for $m = 2$ and $\varepsilon = 0$ batch norm's output is $\pm\gamma + \beta$, whatever the data,
# and that the gradient with respect to both inputs is 0. Then look at `input_gradients` for companions near and far. Which part does `eps` play?
#
# **Images.** Write the table for `nn.BatchNorm2d` on the digits as images `(m, 1, 8, 8)`, with a convolution in front. A batch
# of one image is no longer refused. How large is its spread, and with which $m$ in $1/\sqrt m$ do you have to compare?
#
# **Re-estimation.** Train with batches of 2, then replace the running statistics by the mean and the variance of each layer's input
# over the whole training set. How much of the error at batch size 2 goes away, and what does the rest say?

# %%
# Your own trials go here.
