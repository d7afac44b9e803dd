"""Mistakes in `drift`: another distance, another unit of measure, another pair of times."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.plain import Edit, wrong

STEP = "step = (mean[lag:] - mean[:-lag]) / std[:-lag]"
MOVED = "moved.append(step.abs().mean(dim=1))"
RATIO = "ratio = torch.log(std[lag:] / std[:-lag])"
WIDENED = "widened.append(ratio.abs().mean(dim=1))"
REFUSE = "    if lag < 1 or lag >= times:\n"


def _wrong(ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return wrong("drift", ident, topic, title, symptom, hint, anchor, *edits)


MOVED_MISTAKES: tuple[Mistake, ...] = (
    _wrong(
        "signed", "moved",
        "Shifts are averaged with their signs, so that they cancel",
        "The drift is too small, and sometimes negative.",
        "One unit goes up by 1, another down by 1. What should the layer's drift be?",
        "artefacts-of-measuring",
        (MOVED, "moved.append(step.mean(dim=1))"),
    ),
    _wrong(
        "magnitude-of-the-average", "moved",
        "The magnitude is taken after the average, when the signs have cancelled already",
        "The drift is never negative, yet too small wherever units move in different directions.",
        "In which order do averaging and taking the magnitude come in the formula?",
        "artefacts-of-measuring",
        (MOVED, "moved.append(step.mean(dim=1).abs())"),
    ),
    _wrong(
        "raw", "moved",
        "The drift is in raw units, not in standard deviations",
        "Doubling all activations doubles the drift.",
        "A net whose activations are ten times as large shifts ten times as far. Is that more of a shift?",
        "measuring-shift",
        (STEP, "step = mean[lag:] - mean[:-lag]"),
    ),
    _wrong(
        "later-unit", "moved",
        "The unit of measure is the deviation after the change, not before it",
        "The drift is right as long as deviations stay the same.",
        "The layer above was fitted to the old distribution. In whose units does it feel the change?",
        "measuring-shift",
        (STEP, "step = (mean[lag:] - mean[:-lag]) / std[lag:]"),
    ),
    _wrong(
        "relative-to-the-mean", "moved",
        "The change is divided by the old mean",
        "A unit whose mean is near 0 drifts by huge numbers.",
        "What does a shift from 0.01 to 0.02 mean for a unit that spreads from -1 to 1?",
        "measuring-shift",
        (STEP, "step = (mean[lag:] - mean[:-lag]) / mean[:-lag]"),
    ),
    _wrong(
        "common-unit", "moved",
        "One average deviation serves all units of a layer",
        "Right when all units spread alike; otherwise the wide ones weigh too much.",
        "Does every unit have its own unit of measure in your code?",
        "measuring-shift",
        (STEP, "step = (mean[lag:] - mean[:-lag]) / std[:-lag].mean(dim=1, keepdim=True)"),
    ),
    _wrong(
        "summed", "moved",
        "The units are added up, not averaged",
        "Wide layers seem to drift more.",
        "Would two layers that do the same, one of 4 and one of 400 units, have the same drift?",
        "fair-comparison",
        (MOVED, "moved.append(step.abs().sum(dim=1))"),
    ),
    _wrong(
        "from-the-start", "moved",
        "Every time is compared with the first one",
        "The first entry is right, later ones grow.",
        "Which two times does entry t compare?",
        "measuring-shift",
        (STEP, "step = (mean[lag:] - mean[:1]) / std[:1]"),
    ),
)  # fmt: skip

WIDENED_MISTAKES: tuple[Mistake, ...] = (
    _wrong(
        "signed-widening", "widened",
        "Widening and narrowing units cancel in the average",
        "The second table is too small, and negative where most units narrow.",
        "Half of the units double their deviation, half of them halve it. Has nothing changed?",
        "artefacts-of-measuring",
        (WIDENED, "widened.append(ratio.mean(dim=1))"),
    ),
    _wrong(
        "ratio-without-log", "widened",
        "The relative change of the deviation is taken in place of the logarithm of the ratio",
        "Nearly right for small changes; doubling counts 1, halving counts 0.5.",
        "Should going there and going back count the same?",
        "measuring-shift",
        (RATIO, "ratio = std[lag:] / std[:-lag] - 1"),
    ),
    _wrong(
        "difference-of-deviations", "widened",
        "The difference of the deviations is taken, not their ratio",
        "Doubling all activations doubles the second table.",
        "Which of the two keeps its value when the activations are given in other units?",
        "measuring-shift",
        (RATIO, "ratio = std[lag:] - std[:-lag]"),
    ),
)  # fmt: skip

LAG_MISTAKES: tuple[Mistake, ...] = (
    _wrong(
        "lag-ignored", "lag",
        "lag is ignored: only neighbouring times are compared",
        "Right without a lag; with one, too many rows.",
        "Where does lag enter your indices?",
        "measuring-shift",
        (REFUSE, REFUSE.replace("    if", "    given, lag = lag, 1\n    if").replace("lag < 1 or lag >=", "given < 1 or given >=")),
    ),
    _wrong(
        "lag-as-stride", "lag",
        "lag is used as a stride, so that the intervals do not overlap",
        "Right without a lag; with one, too few rows.",
        "Between how many pairs of times lie two updates, if there are five times?",
        "measuring-shift",
        ("    for mean, std in history:\n", "    for mean, std in [(m[::lag], s[::lag]) for m, s in history]:\n"),
        (STEP, "step = (mean[1:] - mean[:-1]) / std[:-1]"),
        (RATIO, "ratio = torch.log(std[1:] / std[:-1])"),
    ),
    _wrong(
        "drift-per-update", "lag",
        "The drift is divided by the lag",
        "Right without a lag; with one, too small by that factor.",
        "Is the distance between the two times asked, or a speed?",
        "measuring-shift",
        (STEP, STEP + " / lag"),
    ),
    _wrong(
        "single-time", "lag",
        "A history that is too short gives an empty table, not an error",
        "A model that was measured once has a drift without rows, which may pass for no drift.",
        "What can be said about a shift from one time?",
        "measuring-shift",
        (REFUSE, "    if lag < 1:\n"),
    ),
    _wrong(
        "lag-zero", "lag",
        "A lag of 0 or less is not refused",
        "It ends in an error of torch about shapes, or in numbers that mean nothing.",
        "Which lags make sense? The task names the error for all others.",
        "measuring-shift",
        (REFUSE, "    if lag >= times:\n"),
    ),
)  # fmt: skip

DRIFT_MISTAKES = (*MOVED_MISTAKES, *WIDENED_MISTAKES, *LAG_MISTAKES)
