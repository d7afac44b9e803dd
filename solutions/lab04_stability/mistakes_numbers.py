"""Mistakes about the divisor and what it is for: the number of the first version, and the summary over seeds."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.plain import Edit, mistake


def _printed(ident: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("printed_stability", f"printed-{ident}", "printed", title, symptom, hint, anchor, *edits)


def _seeds(ident: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("seed_summary", f"seeds-{ident}", "seeds", title, symptom, hint, anchor, *edits)


ANSWER = "return math.sqrt(m / (m - 1))"
REFUSAL = '    if m < 2:\n        raise ValueError(f"batch norm refuses a batch of {m}")\n'

NUMBERS: tuple[Mistake, ...] = (
    _printed(
        "without-correction",
        "printed_stability answers 1, as if std divided by m",
        "1.0 for every batch size; the first version printed 1.155 for batches of 4.",
        "Batch norm makes the biased variance 1. Which divisor does Tensor.std use when nothing is said?",
        "artefacts-of-measuring",
        (ANSWER, "return 1.0"),
    ),
    _printed(
        "without-root",
        "printed_stability is the ratio of the variances, not of the standard deviations",
        "1.333 in place of 1.155 for batches of 4.",
        "Bessel's correction is a factor between two variances. What did the first version print: a variance?",
        "artefacts-of-measuring",
        (ANSWER, "return m / (m - 1)"),
    ),
    _printed(
        "upside-down",
        "printed_stability has Bessel's factor upside down",
        "0.866 in place of 1.155 for batches of 4: below 1, and growing with m.",
        "The unbiased variance divides the same sum by a smaller number. Is it larger or smaller than the biased one?",
        "artefacts-of-measuring",
        (ANSWER, "return math.sqrt((m - 1) / m)"),
    ),
    _printed(
        "off-by-one",
        "printed_stability counts the batch one too large",
        "1.118 in place of 1.155 for batches of 4, and a number where the batch has only one example.",
        "Write the sum of squared deviations for m = 2 and divide it once by m and once by m - 1.",
        "artefacts-of-measuring",
        (ANSWER, "return math.sqrt((m + 1) / m)"),
        (REFUSAL, ""),
    ),
    _printed(
        "of-one",
        "printed_stability has an answer for a batch of one",
        "It returns nan, where batch norm in training mode stops with a ValueError.",
        "Which line of the first version stops at a batch of one, and does it get as far as std?",
        "few-values",
        (REFUSAL, '    if m < 2:\n        return float("nan")\n'),
    ),
    _printed(
        "division-by-zero",
        "printed_stability of a batch of one ends in a ZeroDivisionError",
        "ZeroDivisionError for m = 1; a ValueError was asked for.",
        "The formula has no meaning for a batch of one. Who says so, your function or Python's division?",
        "few-values",
        (REFUSAL, ""),
    ),
    _seeds(
        "biased",
        "seed_summary divides by the number of seeds",
        "Error bars too short: by 18 % for three seeds, by 29 % for two.",
        "The seeds are a sample of all the seeds that you might have drawn. Which divisor is meant for a sample?",
        "fair-comparison",
        ("correction=1", "correction=0"),
    ),
    _seeds(
        "standard-error",
        "seed_summary returns the standard error of the mean",
        "Too small by the root of the number of seeds.",
        "How far one run lies from another, and how well the mean is known, are two questions. Which one is asked here?",
        "fair-comparison",
        ("values.std(dim=0, correction=1)", "values.std(dim=0, correction=1) / len(values) ** 0.5"),
    ),
    _seeds(
        "over-sizes",
        "seed_summary averages over the batch sizes",
        "One number for each seed, where one for each batch size is wanted.",
        "Which axis of the table are the seeds? After the summary, which axis should be left?",
        "fair-comparison",
        ("values.mean(dim=0)", "values.mean(dim=1)"),
        ("values.std(dim=0,", "values.std(dim=1,"),
    ),
    _seeds(
        "over-everything",
        "seed_summary pools all batch sizes into one mean",
        "One number in place of one for each batch size.",
        "Would you put the errors of batches of 2 and of batches of 128 into one average?",
        "fair-comparison",
        ("values.mean(dim=0)", "values.mean()"),
        ("values.std(dim=0, correction=1)", "values.std()"),
    ),
    _seeds(
        "variance",
        "seed_summary returns the variance, not the standard deviation",
        "Bars in squared per cent: a spread of 6 is drawn as 36.",
        "Mean and bar stand on one axis of the figure. Do they have the same unit?",
        "fair-comparison",
        ("values.std(", "values.var("),
    ),
    _seeds(
        "swapped",
        "seed_summary returns the standard deviation first",
        "Small errors with huge bars.",
        "In which order does the task name the two results?",
        "fair-comparison",
        ("return mean, std", "return std, mean"),
    ),
    _seeds(
        "median",
        "seed_summary takes the median over the seeds",
        "Right for two seeds at most; a bad seed then leaves no trace in the mean.",
        "Which of the two averages is moved by one bad run, and which one is asked for?",
        "fair-comparison",
        ("values.mean(dim=0)", "values.median(dim=0).values"),
    ),
    _seeds(
        "half-range",
        "seed_summary takes half the distance between the best and the worst seed as the bar",
        "Bars that grow with every further seed.",
        "What happens to your bar when you run a hundred seeds? What should happen?",
        "fair-comparison",
        ("values.std(dim=0, correction=1)", "(values.max(dim=0).values - values.min(dim=0).values) / 2"),
    ),
    _seeds(
        "one-seed-is-certain",
        "seed_summary reports a deviation of 0 for a single seed",
        "A run that was done once looks as if it always came out the same.",
        "How much does one run tell about how far apart two would lie? Which value says just that?",
        "fair-comparison",
        ("correction=1)", "correction=1).nan_to_num()"),
    ),
)
