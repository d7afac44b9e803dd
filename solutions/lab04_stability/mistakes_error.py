"""Mistakes in error_rate: another number, the wrong mode, the wrong examples, a model that does not stay as it was."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.plain import Edit, mistake

COPY = "    model = copy.deepcopy(model)\n"
SHARE = "return wrong / seen"
FULL = "        full = len(x) // batch_size * batch_size\n"


def _error(ident: str, check: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("error_rate", f"error-{ident}", check, title, symptom, hint, anchor, *edits)


ERROR: tuple[Mistake, ...] = (
    _error(
        "accuracy",
        "error-evaluation",
        "The share of right answers is returned",
        "Near 1 for a good model.",
        "Does a better model have a larger or a smaller error?",
        "fair-comparison",
        (SHARE, "return 1 - wrong / seen"),
    ),
    _error(
        "percent",
        "error-evaluation",
        "Per cent are returned, where a share from 0 to 1 is asked for",
        "A hundred times too large.",
        "Between which two numbers does a share lie?",
        "fair-comparison",
        (SHARE, "return 100 * wrong / seen"),
    ),
    _error(
        "count",
        "error-evaluation",
        "The number of wrong answers is returned, not their share",
        "It grows with the number of examples.",
        "Can two test sets of different sizes be compared by your number?",
        "fair-comparison",
        (SHARE, "return float(wrong)"),
    ),
    _error(
        "never-in-evaluation",
        "error-evaluation",
        "Without a batch size the mode is left as it comes",
        "For a model in training mode the answers depend on the other examples.",
        "Who decides the mode here: whoever used the model last, or the arguments?",
        "train-eval-gap",
        ("        model.eval()\n", ""),
    ),
    _error(
        "always-in-training",
        "error-evaluation",
        "Without a batch size the model runs in training mode on one large batch",
        "Nearly right for many examples, refused for one.",
        "Which statistics should the answers be based on when nothing but the example is known?",
        "train-eval-gap",
        ("        model.eval()\n", "        model.train()\n"),
    ),
    _error(
        "always-in-evaluation",
        "error-batch",
        "With a batch size the model still runs in evaluation mode",
        "The error is the same for every batch size.",
        "Cutting the examples into batches changes nothing in evaluation mode. Which mode looks at the batch?",
        "train-eval-gap",
        ("        model.train()\n", "        model.eval()\n"),
    ),
    _error(
        "mode-as-it-comes",
        "error-batch",
        "With a batch size the mode is left as it comes",
        "For a model in evaluation mode the error is the same for every batch size.",
        "Which mode looks at the batch, and who sets it?",
        "train-eval-gap",
        ("        model.train()\n", ""),
    ),
    _error(
        "rest-included",
        "error-batch",
        "The smaller batch at the end is counted as well",
        "A few examples are judged with other statistics, and batch norm refuses a single one left over.",
        "Are all your batches of the size that you report on?",
        "fair-comparison",
        (FULL, "        full = len(x)\n"),
    ),
    _error(
        "divided-by-all",
        "error-batch",
        "The wrong answers are divided by all examples, also those left out",
        "Too small as soon as a batch has been left out.",
        "How many examples were asked, and how many do you divide by?",
        "fair-comparison",
        (SHARE, "return wrong / len(x)"),
    ),
    _error(
        "one-large-batch",
        "error-batch",
        "All examples are put into one batch in training mode, whatever the batch size",
        "Statistics of many examples, and so an error that is too good.",
        "How many examples does the model see at once?",
        "small-batches",
        ("        batches = zip(x[:full]", "        batches = [(x, classes)] or zip(x[:full]"),
    ),
    _error(
        "first-batch-only",
        "error-batch",
        "Only the first batch is judged",
        "A number that jumps with the batch size.",
        "How often does your loop run?",
        "fair-comparison",
        ("        seen += len(answers)\n", "        seen += len(answers)\n        break\n"),
    ),
    _error(
        "statistics-of-the-first-batch",
        "error-batch",
        "The running statistics of the batches are used in place of their own",
        "The first batches move the running statistics, then the examples are judged with those.",
        "Running statistics are an average over many batches. What does each batch use in training mode?",
        "bn-running-statistics",
        (
            "        batches = zip(",
            "        with torch.no_grad():\n            [model(part) for part in x[:full].split(batch_size)]\n"
            "        model.eval()\n        batches = zip(",
        ),
    ),
    _error(
        "moves-running-statistics",
        "error-manners",
        "Judging the model moves its running statistics",
        "The model errs differently after it has been judged; the test images have leaked into it.",
        "What does batch norm write down in training mode, also under no_grad?",
        "hooks-and-measuring",
        (COPY, "    was = [module.training for module in model.modules()]\n"),
        (
            "    return wrong",
            "    for module, mode in zip(model.modules(), was):\n        module.training = mode\n    return wrong",
        ),
    ),
    _error(
        "one-mode-for-all",
        "error-manners",
        "One flag is kept for the whole model and given to all of its modules",
        "A part that was frozen in evaluation mode, inside a model in training mode, is in training mode afterwards.",
        "Which modules have a mode of their own? Print the flag of each before and after the call.",
        "hooks-and-measuring",
        (COPY, "    original, was = model, model.training\n" + COPY),
        ("    return wrong", "    original.train(was)\n    return wrong"),
    ),
    _error(
        "left-as-it-fell",
        "error-manners",
        "The model keeps the mode that it was judged in, and the statistics of the batches",
        "In evaluation mode after an evaluation, in training mode after a judgement in batches.",
        "List what your function changes in the model. Which of it is still changed when you return?",
        "hooks-and-measuring",
        (COPY, ""),
    ),
    _error(
        "left-in-training",
        "error-manners",
        "The model is put into training mode at the end, however it came",
        "A model that came in evaluation mode is no longer in it.",
        "Is training mode where the model came from?",
        "hooks-and-measuring",
        (COPY, "    original = model\n" + COPY),
        ("    return wrong", "    original.train()\n    return wrong"),
    ),
)
