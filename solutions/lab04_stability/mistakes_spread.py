"""Mistakes in spread: which mean, which root, which divisor, along which axis."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.plain import Edit, mistake

VARIANCE = "variance = ((outputs - mean) ** 2).mean(dim=0)"
RESULT = "return variance.mean().sqrt().item()"


def _spread(ident: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("spread", f"spread-{ident}", "spread", title, symptom, hint, anchor, *edits)


SPREAD: tuple[Mistake, ...] = (
    _spread(
        "unbiased",
        "spread uses the unbiased variance",
        "Too large by the root of K / (K - 1): 1.41 times for two draws, nan for one.",
        "The first version's number was Bessel's correction and nothing else. Which divisor does the task ask for here?",
        "artefacts-of-measuring",
        (VARIANCE, "variance = outputs.var(dim=0)"),
    ),
    _spread(
        "mean-of-deviations",
        "spread averages standard deviations over the features, and not variances",
        "Right for one feature or for features alike, too small where features differ.",
        "Is the mean of roots the root of the mean? In which order does the task take the two?",
        "artefacts-of-measuring",
        (RESULT, "return variance.sqrt().mean().item()"),
    ),
    _spread(
        "over-features",
        "spread takes the variance over the features of each draw",
        "It is large even when all draws are the same.",
        "Feed it K copies of one row. Nothing varies between draws: what should come out?",
        "batch-mates",
        ("outputs.mean(dim=0)", "outputs.mean(dim=1, keepdim=True)"),
        (VARIANCE, "variance = ((outputs - mean) ** 2).mean(dim=1)"),
    ),
    _spread(
        "over-everything",
        "spread pools draws and features into one variance",
        "Two features with different means look like an unstable output.",
        "Around which centre does each feature vary: one of its own, or one for all?",
        "artefacts-of-measuring",
        ("outputs.mean(dim=0)", "outputs.mean()"),
    ),
    _spread(
        "without-root",
        "spread returns the mean variance and forgets the root",
        "Outputs ten times as large give a number a hundred times as large.",
        "In which unit is your number: that of the outputs, or its square?",
        "artefacts-of-measuring",
        (RESULT, "return variance.mean().item()"),
    ),
    _spread(
        "signed-deviations",
        "spread averages signed deviations, which cancel",
        "0, or a number of the size of a rounding error, whatever is measured.",
        "Deviations from a mean have both signs. What is their mean, always?",
        "artefacts-of-measuring",
        (RESULT, "return (outputs - mean).mean().item()"),
    ),
    _spread(
        "absolute-deviations",
        "spread averages absolute deviations, and not squared ones",
        "Smaller than asked for: by a fifth for normal numbers.",
        "Two measures of width go by similar names. Which one is a root of a mean of squares?",
        "artefacts-of-measuring",
        (RESULT, "return (outputs - mean).abs().mean().item()"),
    ),
    _spread(
        "sum-over-features",
        "spread adds the variances of the features up",
        "A layer with more features looks less stable: too large by the root of C.",
        "Would the number stay the same if every feature stood there twice?",
        "artefacts-of-measuring",
        (RESULT, "return variance.sum().sqrt().item()"),
    ),
    _spread(
        "worst-feature",
        "spread reports the worst feature in place of a mean over all",
        "Right for one feature, too large for more.",
        "What does the task do with the variances of the features before it takes the root?",
        "artefacts-of-measuring",
        (RESULT, "return variance.max().sqrt().item()"),
    ),
    _spread(
        "range",
        "spread is the largest output minus the smallest",
        "It grows with the number of draws, though nothing about the layer has changed.",
        "A range waits for the rarest draw. What is asked for does not depend on how long you wait.",
        "artefacts-of-measuring",
        (RESULT, "return (outputs.max(dim=0).values - outputs.min(dim=0).values).mean().item()"),
    ),
    _spread(
        "one-pass",
        "spread computes the variance as the mean square minus the squared mean",
        "Right for small numbers; useless, or nan, in float32 with a mean of 100.",
        "Two numbers near 10 000 are subtracted to find one near 1. How many digits are left?",
        "numerics",
        (VARIANCE, "variance = (outputs**2).mean(dim=0) - mean**2"),
    ),
    _spread(
        "relative",
        "spread divides by the mean of the outputs",
        "It explodes where a feature has a mean near zero.",
        "Normalized outputs have means near zero. What happens to a relative measure there?",
        "artefacts-of-measuring",
        (RESULT, "return (variance.mean().sqrt() / outputs.mean().abs()).item()"),
    ),
    _spread(
        "per-feature",
        "spread returns one number for each feature",
        "A tensor of shape (C,) comes back, where one number is asked for.",
        "Count the means in the definition: over which two axes are they?",
        "artefacts-of-measuring",
        (RESULT, "return variance.sqrt()"),
    ),
)
