"""Mistakes in `compare`: seeds that are none, error bars of something else, nets that do not match."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.plain import Edit, wrong

RUN = "            runs.append(drift(history)[0].mean(dim=0))\n"
TABLE = "table[name] = (runs.mean(dim=0), runs.std(dim=0))"
WIDTHS = "[m.out_features for m in make(seeds[0]).modules() if isinstance(m, nn.Linear)]"
SEEDS = '    if len(seeds) < 2:\n        raise ValueError("one seed has no error bar")\n'
MATCH = """\
    if any(w != widths[0] for w in widths):
        raise ValueError(f"no matched points: {widths}")
"""


def _wrong(ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return wrong("compare", ident, topic, title, symptom, hint, anchor, *edits)


COMPARE_MISTAKES: tuple[Mistake, ...] = (
    _wrong(
        "one-seed-again", "mean",
        "Every run starts from the same seed",
        "All error bars are 0.",
        "How many different models does your loop make?",
        "fair-comparison",
        ("track_training(make(seed),", "track_training(make(seeds[0]),"),
    ),
    _wrong(
        "trained-on", "mean",
        "One model of each kind is trained on from seed to seed",
        "The first run is right; later ones start from a trained net.",
        "Where is the model made, before the loop over the seeds or inside it?",
        "fair-comparison",
        ("        runs = []\n", "        runs = []\n        model = make(seeds[0])\n"),
        ("track_training(make(seed),", "track_training(model,"),
    ),
    _wrong(
        "numbered-seeds", "mean",
        "The seeds are counted 0, 1, 2, whatever was asked for",
        "Right when the seeds happen to be these.",
        "What does your loop variable run over?",
        "fair-comparison",
        ("for seed in seeds:", "for seed in range(len(seeds)):"),
    ),
    _wrong(
        "total-drift", "mean",
        "The drift from the first to the last time is taken, not from update to update",
        "There is one number for a whole training, and it is no average of steps.",
        "Ten steps of 1 in random directions do not lead 10 away. Which distance was asked?",
        "measuring-shift",
        (RUN, "            runs.append(drift(history, len(batches))[0].mean(dim=0))\n"),
    ),
    _wrong(
        "widening-reported", "mean",
        "The change of the deviations is reported, not that of the means",
        "The numbers belong to the other table of drift.",
        "drift returns two tables. Which is which?",
        "measuring-shift",
        (RUN, "            runs.append(drift(history)[1].mean(dim=0))\n"),
    ),
    _wrong(
        "layers-averaged", "mean",
        "The layers are averaged too",
        "One number in place of one for each linear layer.",
        "Which axis must survive, if points are to be compared one by one?",
        "measuring-shift",
        (RUN, "            runs.append(drift(history)[0].mean())\n"),
    ),
    _wrong(
        "standard-error", "bars",
        "The bars are standard errors of the mean",
        "Too small by the root of the number of seeds.",
        "Two kinds of bars are in use. Which one does the task name, and what should stand under a figure?",
        "fair-comparison",
        (TABLE, "table[name] = (runs.mean(dim=0), runs.std(dim=0) / len(seeds) ** 0.5)"),
    ),
    _wrong(
        "biased-bars", "bars",
        "The bars are biased standard deviations",
        "Too small, most with two seeds.",
        "A few runs stand for all that could have been. Which deviation is fair to so few?",
        "fair-comparison",
        (TABLE, "table[name] = (runs.mean(dim=0), runs.std(dim=0, correction=0))"),
    ),
    _wrong(
        "bars-of-updates", "bars",
        "The bars show how the drift varies from update to update, not from seed to seed",
        "They stay when every seed gives the same.",
        "What must be repeated to know what would be otherwise next time?",
        "fair-comparison",
        (RUN, RUN + "            last = drift(history)[0]\n"),
        (TABLE, "table[name] = (runs.mean(dim=0), last.std(dim=0))"),
    ),
    _wrong(
        "one-seed-accepted", "matched",
        "A single seed is accepted",
        "The error bar is not a number.",
        "What spread does one run have?",
        "fair-comparison",
        (SEEDS, ""),
    ),
    _wrong(
        "not-matched", "matched",
        "Nets that do not match are compared all the same",
        "Layers of different width, or different layers, stand side by side.",
        "Entry i of both tables is to be the same point in both nets. How do you know that it is?",
        "measuring-shift",
        (MATCH, ""),
    ),
    _wrong(
        "only-counted", "matched",
        "Only the number of the linear layers is compared",
        "Nets of different width pass for matched.",
        "What else must be the same at a matched point?",
        "measuring-shift",
        (WIDTHS, "[1 for m in make(seeds[0]).modules() if isinstance(m, nn.Linear)]"),
    ),
    _wrong(
        "modules-counted", "matched",
        "All modules are matched, not only the linear layers",
        "A net with normalization never matches the same net without.",
        "Index i of the list of modules is what in the one net, and what in the other?",
        "measuring-shift",
        (WIDTHS, "[type(m).__name__ for m in make(seeds[0]).modules()]"),
    ),
    _wrong(
        "order-ignored", "matched",
        "The widths are compared without their order",
        "Nets whose layers have the same widths in another order pass for matched.",
        "Is the first layer of the one net matched with the first of the other?",
        "measuring-shift",
        (WIDTHS, f"sorted({WIDTHS})"),
    ),
)  # fmt: skip
