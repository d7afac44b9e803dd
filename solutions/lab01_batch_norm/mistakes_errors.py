"""Mistakes in what the layer refuses: one value per channel, a wrong rank, a wrong number of channels."""

from __future__ import annotations

from solutions.lab01_batch_norm.plain import in_layers

RANK = """        if x.dim() not in (2, 3):
            raise ValueError(f"expected (N, C) or (N, C, L), got {tuple(x.shape)}")
"""
WIDTH = """        if x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")
"""
COUNT = "            n = x.numel() // x.shape[1]\n"
FEW = """            if n < 2:
                raise ValueError(f"{tuple(x.shape)} has one value per channel")
"""
BESSEL = "(var * n / (n - 1) - self.running_var)"

ERRORS = (
    *in_layers(
        "one-value-accepted",
        "errors",
        "One value per channel is accepted where batch statistics are used",
        "The output is the bias and the gradient 0, without a word.",
        "What is the variance of a single number, and what can be learnt from dividing by it?",
        "few-values",
        (FEW, ""),
        (BESSEL, "(var * n / max(n - 1, 1) - self.running_var)"),
        seen_in=("the first version of this course",),
    ),
    *in_layers(
        "rows-counted-not-values",
        "errors",
        "One row is refused even when it holds several values per channel",
        "A batch of one sample with several positions raises a ValueError.",
        "What must there be two of, for a variance: samples, or values per channel?",
        "few-values",
        (FEW, FEW.replace("n < 2", "x.shape[0] < 2")),
        seen_in=("'needs batch size > 1' in the first version of this course",),
    ),
    *in_layers(
        "one-value-refused-in-evaluation",
        "evaluation",
        "One value per channel is refused in evaluation too, where running statistics are used",
        "A trained model can't be asked about a single sample.",
        "In which branch is the variance of the batch computed? Only that one has to refuse.",
        "few-values",
        (COUNT, ""),
        (FEW, ""),
        (
            "        tracked = self.running_mean is not None\n",
            "        tracked = self.running_mean is not None\n" + (COUNT + FEW).replace("\n    ", "\n")[4:],
        ),
    ),
    *in_layers(
        "one-value-accepted-untracked",
        "errors",
        "One value per channel is refused in training only, though an untracked layer uses the batch in evaluation too",
        "With track_running_stats=False, evaluation of a single value returns the bias.",
        "The question is not which mode it is, but whose statistics are used.",
        "few-values",
        (FEW, FEW.replace("n < 2", "n < 2 and self.training")),
    ),
    *in_layers(
        "assert-for-one-value",
        "errors",
        "One value per channel raises an AssertionError",
        "The caller can't catch it as the ValueError that was promised.",
        "An assertion is for your own mistakes and disappears under python -O. What is raised for a bad argument?",
        "few-values",
        (FEW, '            assert n > 1, "one value per channel"\n'),
    ),
    *in_layers(
        "assert-for-rank",
        "errors",
        "A wrong rank raises an AssertionError",
        "The caller can't catch it as the ValueError that was promised.",
        "An assertion is for your own mistakes and disappears under python -O. What is raised for a bad argument?",
        "as-a-module",
        (RANK, "        assert x.dim() in (2, 3)\n"),
    ),
    *in_layers(
        "runtime-error-for-width",
        "errors",
        "A wrong number of channels raises a RuntimeError",
        "The contract promises a ValueError.",
        "The kind of an exception is part of the interface. Which kind is named in the contract?",
        "as-a-module",
        (WIDTH, WIDTH.replace("ValueError", "RuntimeError")),
    ),
    *in_layers(
        "width-not-checked",
        "errors",
        "A wrong number of channels is not checked",
        "A broadcasting error from deep inside; and one single channel is accepted silently.",
        "Don't leave it to broadcasting: what happens in your layer to an input with one channel?",
        "as-a-module",
        (WIDTH, ""),
    ),
    *in_layers(
        "wrong-width-returned-unchanged",
        "errors",
        "An input with a wrong number of channels is returned unchanged",
        "A wiring error in the model goes unnoticed.",
        "Who finds the mistake if the layer keeps silent about it?",
        "as-a-module",
        (WIDTH, "        if x.shape[1] != self.num_features:\n            return x\n"),
    ),
    *in_layers(
        "rank-not-checked",
        "errors",
        "The number of axes is not checked",
        "An input meant for another layer is normalized without complaint.",
        "Which ranks does this layer promise to take? Try one more and one fewer.",
        "as-a-module",
        (RANK, ""),
    ),
    *in_layers(
        "batch-axis-added",
        "errors",
        "An input without a batch axis gets one silently",
        "A single sample is taken for a batch of one, in evaluation without a word.",
        "The contract says that a wrong rank is an error. Guessing what the caller meant hides the error.",
        "as-a-module",
        (RANK, "        if x.dim() == min((2, 3)) - 1:\n            x = x.unsqueeze(0)\n" + RANK),
    ),
)
