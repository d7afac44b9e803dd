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
# # Example lab: rows of unit length
#
# **The question.** What is left of a vector when its length is taken away, and what should happen to a vector that has none?
#
# **When you are done you can** divide the rows of a batch by their lengths, and say what `eps` protects.
#
# **Time:** 10 minutes. **Points:** 10, of which 8 are given by the machine and 2 by a person.
#
# Cells that say `# YOUR CODE HERE` are yours. A `check` tries your work on public examples; the grade asks the same
# questions with other numbers. Read with it: [Mathematical Formulation](../../book/mathematical-formulation.md).

# %% nbgrader={"grade": false, "grade_id": "set-up", "locked": true, "schema_version": 3, "solution": false, "task": false}
import importlib.util
import subprocess
import sys

COURSE = "normalization-course @ git+https://github.com/normalization-course/normalization-course"
if "google.colab" in sys.modules and importlib.util.find_spec("autograder") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", COURSE], check=True)

import torch

try:
    from autograder.student import check
except ImportError as missing:
    raise ImportError(
        f'The course package is not installed. Run  pip install "{COURSE}"  and restart the kernel.'
    ) from missing

print("torch", torch.__version__)

# %% [markdown]
# ## 1. Predict first (1 point)
#
# The row $(3, 4)$ is divided by its length. `predicted_first` is the first of the two numbers that come out, right to two
# decimals. The check only notes what you say.

# %% nbgrader={"grade": false, "grade_id": "solve-prediction", "locked": false, "schema_version": 3, "solution": true, "task": false}
predicted_first = None
### BEGIN SOLUTION
predicted_first = 3 / (3**2 + 4**2) ** 0.5
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "unit-predict", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("unit-predict")

# %% [markdown]
# ## 2. `unit_length` (7 points)
#
# `unit_length(x, eps=1e-12)` takes `x` of shape `(N, C)` and returns a new tensor of the same shape and dtype:
#
# $$
# y_{ic} = \frac{x_{ic}}{\max(\ell_i, \varepsilon)}, \qquad \ell_i = \sqrt{\textstyle\sum_c x_{ic}^2} .
# $$
#
# - Each **row** has a length of its own. Where $N = C$ no error can warn you that you took the columns.
# - `eps` is a **floor** under the length, not a summand: rows that are longer than `eps` have length 1 afterwards. A row of
#   zeros stays zero; it does not become NaN.
# - It holds in float64 and in float32, for contiguous inputs and for strided ones, and `x` itself **stays as it is**.
#
# **The rows** (3 points), **the floor** (2 points), **manners** (2 points)


# %% nbgrader={"grade": false, "grade_id": "solve-unit-length", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unit_length(x, eps=1e-12):
    """Return the rows of x (N, C), each divided by its length or by eps, whichever is larger."""
    ### BEGIN SOLUTION
    length = (x * x).sum(dim=1, keepdim=True).sqrt()  # (N, 1)
    return x / length.clamp(min=eps)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "unit-rows", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("unit-rows")

# %% nbgrader={"grade": true, "grade_id": "unit-floor", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("unit-floor")

# %% nbgrader={"grade": true, "grade_id": "unit-manners", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("unit-manners")

# %% [markdown]
# ## 3. A written answer (2 points, graded by a person)
#
# Batch normalization divides by a standard deviation and adds `eps` under the root; here `eps` is a floor. Name one input for
# which the two ways differ much, and say how.
#
# | 2 points | 1 point | 0 points |
# |---|---|---|
# | a row about as long as `eps`, and both results | only the row or only the results | neither |

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-answer", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# A row of length `eps`: the floor gives length 1. With `eps` under the root of the squared length the result is shorter, since
# the square of the length is then far below `eps` when `eps` is small.
