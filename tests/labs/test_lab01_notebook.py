"""Lab 1 as a student meets it: what is graded is said, the stubs are gentle, the solution runs to the end."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograder.authoring.release import instructor_notebook
from autograder.student import check
from solutions.lab01_batch_norm.checks import LAB

ROOT = Path(__file__).resolve().parents[2]
NAME = "lab01_batch_norm"

POINTS = {check.name: check.points for check in LAB.checks} | {"written-answer": 6}
SOLUTIONS = [
    "solve-predictions",
    "solve-statistics",
    "solve-normalize",
    "solve-running",
    "solve-bn1d",
    "solve-bn2d",
    "solve-backward-steps",
    "solve-backward",
]

# What may cost points must stand in the text: one pattern for each requirement.
SAID = {
    "the signature": r"BatchNorm1d\(num_features, eps=1e-5, momentum=0\.1, affine=True, track_running_stats=True\)",
    "the signature, 2d": r"BatchNorm2d\(num_features, eps=1e-5, momentum=0\.1, affine=True, track_running_stats=True\)",
    "an nn.Module": r"is an `nn\.Module`",
    "weight": r"`weight` \| parameter \| `\(C,\)` \| float \| 1 \| `None` if `affine=False`",
    "bias": r"`bias` \| parameter \| `\(C,\)` \| float \| 0 \| `None` if `affine=False`",
    "running_mean": r"`running_mean` \| buffer \| `\(C,\)` \| float \| 0 \| `None` if `track_running_stats=False`",
    "running_var": r"`running_var` \| buffer \| `\(C,\)` \| float \| 1 \| `None` if `track_running_stats=False`",
    "the count": r"`num_batches_tracked` \| buffer \| `\(\)`, 0-dimensional \| int64 \| 0 \| `None`",
    "state dict, both ways, strictly": r"loaded from and into `torch\.nn\.BatchNorm1d`, strictly",
    "state dict, 2d": r"loaded\s+from and into `torch\.nn\.BatchNorm2d`, strictly",
    "shapes stay": r"Shapes and kinds stay as they are after a call",
    "hooks, copies, containers": r"`\.double\(\)`\), deep-copied,\s+and put into an `nn\.Sequential`; hooks fire",
    "input and axis": r"`\(N, C\)` or `\(N, C, L\)`\. The channel is \*\*axis 1\*\*",
    "the set of (N, C, L)": r"\$m = N L\$",
    "one layer, two shapes": r"layer may see one shape and then the other",
    "output shape and dtype": r"The output has the shape and the dtype of `x`",
    "x stays": r"`x` itself stays as it is",
    "biased in the output": r"normalize with the mean and the biased variance of the batch",
    "a constant channel": r"A constant channel gives `bias`, not NaN",
    "unbiased in running_var": r"`running_var` with the \*\*unbiased\*\* variance, without `eps`",
    "direction of momentum": r"`momentum` is the weight of the \*\*new\*\* value",
    "momentum None": r"`momentum=None` means the \*\*cumulative average\*\*",
    "None goes on from a loaded state": r"the average goes on from a loaded state",
    "the count grows": r"`num_batches_tracked` grows by 1 with each call in training mode",
    "no graph": r"the update \*\*keeps no graph\*\*",
    "evaluation leaves buffers alone": r"leave all buffers \*\*untouched\*\*",
    "not tracked": r"the batch's own statistics are used \*\*in both modes\*\*",
    "mode is self.training": r"\*\*The mode is `self\.training`\*\*",
    "not the grad mode": r"training mode under `torch\.no_grad\(\)` still uses and remembers the batch",
    "one value per channel": r"`ValueError`\s+- for \*\*one value per channel\*\* \(\$m = 1\$\) wherever the batch's",
    "wrong rank": r"\*\*wrong rank\*\* \(other than 2 or 3 axes\), in both modes",
    "wrong C": r"\*\*wrong \$C\$\*\* .*in both modes, whatever the options",
    "gradients": r"flow by autograd to `x`, `weight` and `bias`, through the batch's mean and variance",
    "evaluation-mode backward": r"asked in training mode \*\*and in evaluation mode\*\*",
    "frozen": r"\*\*Any of the three may be\s+frozen\*\*",
    "an evaluation in between": r"An evaluation between a forward pass and its backward pass disturbs nothing",
    "accuracy": r"float32 with a mean of 100 standard deviations must still be right",
    "dtypes and strides": r"in float64 and in float32, for contiguous inputs and for others \(transposed, sliced\)",
    "channels last": r"\"channels last\" memory",
    "2d set": r"\$m = N H W\$",
    "2d says all again": r"\*\*Everything said about `BatchNorm1d` holds\*\*",
    "2d errors": r"any rank but 4, for a wrong \$C\$, and for one value per channel",
    "no built-in": r"Do not call them in\s+your solutions, and do not inherit from them",
    "who looks": r"looks at the operators that run and at the source",
    "what is accepted": r"`torch\.var_mean`, `einops`, Welford's method,\s+your own `autograd\.Function`, float32",
    "rebinding": r"may be changed in place or rebound",
    "half precision": r"Half\s+precision is a stretch exercise at the end, without points",
    "practice is not the grade": r"other numbers and shapes\*\*, drawn anew",
    "backward's signature": r"`batch_norm_backward\(grad_out, x, weight, eps=1e-5\)` returns a tuple",
    "backward's results": r"`\(grad_x, grad_weight, grad_bias\)`",
    "sums": r"\*\*sums\*\* over the batch, not means",
    "no autograd": r"\*\*no autograd\*\* in it",
    "arguments unchanged": r"its \*\*arguments stay unchanged\*\*",
    "backward's numerics": r"small variances and a large `eps`, in float64 and float32, for strided inputs, and for a",
    "the keys of backward_steps": r'"mean".*"var".*"x_hat".*"grad_x_hat".*"grad_var".*"grad_mean".*"grad_x"',
    "total derivative of the mean": r"\*\*total\*\*: directly through every .* and through \$v\$, which is a function",
    "batch_statistics": r"`batch_statistics\(x\)` takes `x` of shape `\(N, C\)` and returns `\(mean, var\)`",
    "normalize": r"`normalize\(x, mean, var, eps\)` returns",
    "updated_running": r"`updated_running\(running_mean, running_var, mean, var, n, momentum\)` returns",
    "var is biased there": r"`var` is the \*\*biased\*\* variance: turning it into the unbiased one is part",
    "how exact a prediction": r"right to two decimals",
    "the rubric": r"\| 2 points \| 1 point \| 0 points \|",
}


@pytest.fixture(scope="module")
def released() -> NotebookNode:
    return nbformat.read(ROOT / "labs" / NAME / f"{NAME}.ipynb", 4)


@pytest.fixture(scope="module")
def solved() -> NotebookNode:
    """The instructor's notebook, run from top to bottom in a kernel, as a student would."""
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    NotebookClient(notebook, timeout=240, kernel_name="python3", allow_errors=True).execute()
    return notebook


def text(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(c for c in notebook.cells if c.id == name)


def printed(notebook: NotebookNode, name: str) -> str:
    return "".join(o.text for o in cell(notebook, name).outputs if o.output_type == "stream")


@pytest.mark.parametrize("requirement", SAID)
def test_what_is_graded_is_said(released: NotebookNode, requirement: str):
    """A student can only be graded on what was said."""
    assert re.search(SAID[requirement], text(released), flags=re.DOTALL)


def test_each_check_has_its_cell_its_points_and_nothing_but_the_check(released: NotebookNode):
    """The test cells are those of LAB, in its order, locked; the points are 84."""
    graded = {c.id: c for c in released.cells if c.metadata.get("nbgrader", {}).get("grade")}
    assert {name: c.metadata.nbgrader.points for name, c in graded.items()} == POINTS
    assert list(graded) == [check.name for check in LAB.checks] + ["written-answer"]
    assert sum(POINTS.values()) == 84
    assert "**Points:** 84, of which 78 are given by the machine" in text(released)
    for name, c in graded.items():
        if name != "written-answer":
            assert c.source == f'check("{name}")'
            assert c.metadata.nbgrader.locked
            assert not c.metadata.nbgrader.solution


def test_the_points_in_the_headings_add_up(released: NotebookNode):
    """What a heading promises is what its checks give."""
    says = {int(n) for n in re.findall(r"^## .*\((\d+) points", text(released), flags=re.MULTILINE)}
    groups = {"bn1d": 0.0, "bn2d": 0.0, "b": 0.0, "written": 0.0}
    for name, points in POINTS.items():
        group = next((g for g in groups if name.startswith(g)), None)
        if group:
            groups[group] += points
    assert says == set(groups.values())


def test_solutions_are_marked_and_named(released: NotebookNode):
    """nbgrader and the graft know a student's cell by these names."""
    marked = [c.id for c in released.cells if c.metadata.get("nbgrader", {}).get("solution")]
    assert marked == [*SOLUTIONS, "written-answer"]


def test_an_untouched_notebook_stops_only_where_something_is_to_be_written(released: NotebookNode):
    """Every cell runs, or says NotImplementedError with a sentence; no NameError that would puzzle a beginner."""
    notebook = nbformat.from_dict(released)
    for c in notebook.cells:
        if c.cell_type == "code" and c.source.startswith("check("):
            c.source = "pass"
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    errors = {
        c.id: (o.ename, o.evalue)
        for c in notebook.cells
        if c.cell_type == "code"
        for o in c.outputs
        if o.output_type == "error"
    }
    name, sentence = errors.pop("experiment-figure")
    assert (name, sentence[:32]) == ("RuntimeError", "There is no trained network yet:")
    assert set(errors.values()) == {("NotImplementedError", "Write this part, and delete this line.")}
    assert set(errors) & set(SOLUTIONS) == {"solve-predictions"}


def test_the_links_lead_somewhere(released: NotebookNode):
    """Relative links are followed from the notebook's folder, as the website and a checkout do."""
    links = re.findall(r"\]\(([^)#:]+)\)", text(released))
    assert links
    assert [link for link in links if not (ROOT / "labs" / NAME / link).is_file()] == []


@pytest.mark.slow
def test_the_solved_notebook_runs_to_the_end(solved: NotebookNode):
    """No cell fails, and every check says that it passed, or noted a prediction."""
    errors = [(c.id, o.evalue) for c in solved.cells if c.cell_type == "code" for o in c.outputs if "evalue" in o]
    assert errors == []
    for name in POINTS.keys() - {"written-answer"}:
        assert printed(solved, name).startswith((f"{name}: passed", f"{name}: noted"))


@pytest.mark.slow
def test_the_predictions_agree_with_the_layer(solved: NotebookNode):
    """The table that shows a student's guess beside the layer's answer: both columns are the same here."""
    rows = re.findall(r"(-?[\d.]+) +(-?[\d.]+)$", printed(solved, "compare-predictions"), flags=re.MULTILINE)
    assert len(rows) == 3
    assert all(abs(float(guess) - float(answer)) < 1e-3 for guess, answer in rows)


@pytest.mark.slow
def test_the_first_version_s_test_passes_for_layers_that_do_nothing(solved: NotebookNode):
    """The claim of the box: nine times in ten for the identity, always for two other wrong layers."""
    shares = [float(n) for n in re.findall(r"([\d.]+) %$", printed(solved, "first-version"), flags=re.MULTILINE)[:3]]
    assert 85 < shares[0] < 97
    assert shares[1:] == [100, 100]


@pytest.mark.slow
def test_the_experiment_shows_what_the_text_around_it_says(solved: NotebookNode):
    """Tolerant on purpose: a wide gap between the modes at batch size 2, a small one at 64, one image that moves."""
    table = {
        int(row[0]): [float(n) for n in row[1::2]]
        for row in re.findall(
            r"^ +(\d+) +([\d.]+) \+- +([\d.]+) +([\d.]+) \+- +([\d.]+) +([\d.]+)",
            printed(solved, "experiment-networks"),
            re.M,
        )
    }
    batch, evaluation, control = (dict(zip(table, column, strict=True)) for column in zip(*table.values(), strict=True))
    assert batch[2] - evaluation[2] > 8
    assert batch[4] - control[4] > 5
    assert abs(batch[64] - evaluation[64]) < 3
    assert max(evaluation[64], control[64]) < 8
    moves = re.findall(r"in batches of +(\d+): from ([\d.]+) to ([\d.]+)", printed(solved, "experiment-figure"))
    width = {int(size): float(high) - float(low) for size, low, high in moves}
    assert width[2] > 0.5
    assert width[64] < width[4]
    (figure,) = [
        o.data["image/png"] for o in cell(solved, "experiment-figure").outputs if o.output_type == "display_data"
    ]
    assert len(base64.b64decode(figure)) > 10_000


def test_the_solution_passes_its_checks_in_this_process():
    """The same checks without a kernel, so that a failure has a traceback."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn}
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    for name in SOLUTIONS:
        exec(cell(notebook, name).source, names)
    for name in POINTS.keys() - {"written-answer"}:
        check(name, names)
