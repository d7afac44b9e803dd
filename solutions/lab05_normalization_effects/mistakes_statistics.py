"""Mistakes in `preactivation_statistics`: other numbers, other points, and a model that is not what it was."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.plain import Edit, wrong

ROWS = "h = output.reshape(-1, output.shape[-1])"
MEAN = "mean = h.mean(dim=0)"
STD = "std = h.std(dim=0, correction=0)"
LAYERS = "for layer in model.modules():\n        if isinstance(layer, nn.Linear):"
RESTORED = "    for name, b in model.named_buffers():\n        b.copy_(kept[name])\n"
RUN = "    with torch.no_grad():\n        model(x)\n"
KEPT = "    kept = {name: b.clone() for name, b in model.named_buffers()}\n"


def _wrong(ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return wrong("preactivation_statistics", ident, topic, title, symptom, hint, anchor, *edits)


NUMBERS: tuple[Mistake, ...] = (
    _wrong(
        "pooled", "mean",
        "One mean for the whole layer in place of one for each unit",
        "The statistics are single numbers without axes; units that move in opposite directions seem to stand still.",
        "Two units at +10 and -10 have which common mean? Decide which axis must survive.",
        "artefacts-of-measuring",
        (MEAN, "mean = h.mean()"),
        (STD, "std = h.std(correction=0)"),
    ),
    _wrong(
        "per-example", "mean",
        "A mean for each example in place of one for each unit",
        "The tensors have as many entries as the batch has rows.",
        "Layer norm takes such a mean; a unit's distribution is over the examples. Which axis goes away?",
        "measuring-shift",
        (MEAN, "mean = h.mean(dim=1)"),
        (STD, "std = h.std(dim=1, correction=0)"),
    ),
    _wrong(
        "tokens-apart", "mean",
        "Inputs with three axes keep their positions apart",
        "Right for (N, features); for (N, T, features) the result has an axis too many.",
        "A linear layer works on the last axis and treats everything before it alike. What is one value of a unit then?",
        "measuring-shift",
        (ROWS, "h = output"),
    ),
    _wrong(
        "inputs", "mean",
        "What goes into the linear layer is measured in place of what comes out",
        "The tensors have as many entries as the layer has inputs.",
        "A forward hook is handed both, in a fixed order. Which is which?",
        "hooks-and-measuring",
        (ROWS, "h = inputs[0].reshape(-1, inputs[0].shape[-1])"),
    ),
    _wrong(
        "unbiased-std", "std",
        "The standard deviation is the unbiased one",
        "All deviations are too large by sqrt(m/(m-1)), most for few examples.",
        "How many numbers is the sum of squares divided by? Look up the default of the function that you call.",
        "artefacts-of-measuring",
        (STD, "std = h.std(dim=0)"),
    ),
    _wrong(
        "variance", "std",
        "The variance is returned in place of the standard deviation",
        "Doubling x multiplies the second number by four.",
        "A shift is to be told in units of a spread. Which of the two has the unit of the activations?",
        "measuring-shift",
        (STD, "std = h.var(dim=0, correction=0)"),
    ),
    _wrong(
        "one-pass", "std",
        "The deviation is taken from the mean of the squares minus the square of the mean",
        "Right in float64; in float32, with a large mean, the digits cancel, and a deviation may be 0 or NaN.",
        "Two nearly equal large numbers are subtracted. How many digits of float32 are left?",
        "artefacts-of-measuring",
        (STD, "std = (h.square().mean(dim=0) - mean.square()).sqrt()"),
    ),
    _wrong(
        "rms", "std",
        "The root mean square is returned: the mean was not taken away",
        "The deviation grows when a constant is added to all activations.",
        "A unit that is always 5 has what spread?",
        "measuring-shift",
        (STD, "std = h.square().mean(dim=0).sqrt()"),
    ),
)  # fmt: skip

POINTS: tuple[Mistake, ...] = (
    _wrong(
        "after-activation", "points",
        "What comes out of the nonlinearities is measured, not the pre-activations",
        "Behind a ReLU no mean is negative, and the last layer is missing.",
        "The points that nets with and without normalization share lie before the nonlinearity. Which modules put them out?",
        "measuring-shift",
        (LAYERS, "for layer in model.modules():\n        if isinstance(layer, (nn.ReLU, nn.Tanh)):"),
    ),
    _wrong(
        "norms-too", "points",
        "Outputs of normalization layers are counted among the pre-activations",
        "A net with normalization has more entries than the same net without; entry i of both are different layers.",
        "What a normalization layer puts out has mean 0 and deviation 1 because it was made so. Can that be evidence?",
        "measuring-shift",
        (LAYERS, "for layer in model.modules():\n        if hasattr(layer, 'weight') and not isinstance(layer, nn.Conv2d):"),
    ),
    _wrong(
        "convolutions-too", "points",
        "Convolutions are counted among the linear layers",
        "A net that begins with a convolution has an entry too many.",
        "The task names one kind of module. What else does your condition let through?",
        "hooks-and-measuring",
        (LAYERS, "for layer in model.modules():\n        if isinstance(layer, (nn.Linear, nn.Conv2d)):"),
    ),
    _wrong(
        "top-level-only", "points",
        "Linear layers inside blocks are not found",
        "Right for a flat nn.Sequential; nested models have too few entries.",
        "A model is a tree. Does your loop see only the first row of branches?",
        "hooks-and-measuring",
        (LAYERS, "for layer in model.children():\n        if isinstance(layer, nn.Linear):"),
    ),
    _wrong(
        "last-left-out", "points",
        "The last linear layer is left out",
        "The list is one entry short.",
        "The output layer has pre-activations too: the logits.",
        "measuring-shift",
        ("    return found\n", "    return found[:-1]\n"),
    ),
    _wrong(
        "evaluation-mode", "points",
        "The model is measured in evaluation mode whatever its mode is",
        "Nets without batch norm are right; those with it differ behind the first batch norm when they are in training mode.",
        "Which statistics does batch norm put in while the net learns? What you measure should be what the layers then see.",
        "train-eval-gap",
        (RUN, "    model.eval()\n" + RUN + "    for m, training in zip(model.modules(), modes):\n        m.training = training\n"),
    ),
    _wrong(
        "training-mode", "points",
        "The model is measured in training mode whatever its mode is",
        "A net that was given in evaluation mode differs behind its first batch norm.",
        "Who decides about the mode of a model, the caller or the function that looks at it?",
        "train-eval-gap",
        (RUN, "    model.train()\n" + RUN + "    for m, training in zip(model.modules(), modes):\n        m.training = training\n"),
    ),
)  # fmt: skip

MANNERS: tuple[Mistake, ...] = (
    _wrong(
        "hooks-stay", "manners",
        "The hooks stay on the model",
        "Each measurement leaves more hooks behind: later calls grow slower, and old lists grow longer.",
        "register_forward_hook returns something. What is it good for?",
        "hooks-and-measuring",
        ("    for handle in handles:\n        handle.remove()\n", ""),
    ),
    _wrong(
        "running-moved", "manners",
        "Measuring moves the running statistics of batch norm",
        "After a measurement in training mode running_mean, running_var and the count are other ones, even without a graph.",
        "torch.no_grad() stops gradients. Does it stop a buffer from being updated?",
        "hooks-and-measuring",
        (KEPT, ""),
        (RESTORED, ""),
    ),
    _wrong(
        "left-in-evaluation", "manners",
        "The model is left in evaluation mode",
        "Training goes on with the running statistics, and they move no more.",
        "Switching a mode is a lasting change of the model. Who switches back?",
        "hooks-and-measuring",
        ("    return found\n", "    model.eval()\n    return found\n"),
    ),
    _wrong(
        "left-in-training", "manners",
        "The model is left in training mode, whatever it was before",
        "A net that was given in evaluation mode answers with batch statistics afterwards.",
        "Putting back means: as it was. Do you know how it was?",
        "hooks-and-measuring",
        ("    return found\n", "    model.train()\n    return found\n"),
    ),
    _wrong(
        "gradients-wiped", "manners",
        "The model's gradients are set to zero, also those that were there before",
        "Whoever accumulates gradients over several batches loses what had been accumulated.",
        "Whose gradients stand in .grad when your function is called?",
        "hooks-and-measuring",
        ("    return found\n", "    model.zero_grad()\n    return found\n"),
    ),
    _wrong(
        "momentum-zero", "manners",
        "momentum is set to 0 so that nothing is remembered, and is not put back",
        "From then on the running statistics of the model never move again.",
        "A setting is a part of the model too. Which ones did you touch?",
        "hooks-and-measuring",
        (RUN, "    for m in model.modules():\n        if hasattr(m, 'momentum'):\n            m.momentum = 0.0\n" + RUN),
    ),
    _wrong(
        "frozen", "manners",
        "The parameters want no gradient any more",
        "The next backward pass fails, or nothing learns.",
        "There is a way to run a model without a graph that leaves no mark on its parameters.",
        "hooks-and-measuring",
        (RUN, "    for p in model.parameters():\n        p.requires_grad_(False)\n" + RUN),
    ),
)  # fmt: skip

STATISTICS_MISTAKES = (*NUMBERS, *POINTS, *MANNERS)
