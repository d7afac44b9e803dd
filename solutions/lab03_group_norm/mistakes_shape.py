"""Mistakes in statistics_shape: which axes are left when a norm has taken its means of (N, L, C)."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import in_shape

BATCH, LAYER, TOKEN, GROUP = "return (c,)", "return (n,)", "return (n, l)", "return (n, num_groups)"
UNKNOWN = '    raise ValueError(f"unknown kind {kind!r}")\n'

SHAPE: tuple[Mistake, ...] = (
    in_shape(
        "axes-kept", "values", "The axes that were averaged away are kept with length 1",
        "(1, 1, C) where (C,) is asked for, and so on.",
        "The shape of the statistics lists how many there are along each axis that is left. What does keepdim keep?",
        (BATCH, "return (1, 1, c)"), (LAYER, "return (n, 1, 1)"), (TOKEN, "return (n, l, 1)"),
        (GROUP, "return (n, 1, num_groups)"),
    ),
    in_shape(
        "layer-per-position", "values", "Layer norm over (L, C) is given one mean per position",
        "(N, L) for \"layer\": that is \"token\".",
        "Which two axes does the bracket in LN (L, C) name, and which one is left?",
        (LAYER, "return (n, l)"),
    ),
    in_shape(
        "token-per-sample", "values", "Layer norm over C is given one mean per sample",
        "(N,) for \"token\": that is \"layer\".",
        "A transformer normalizes each token on its own. How many tokens are there?",
        (TOKEN, "return (n,)"),
    ),
    in_shape(
        "batch-per-position", "values", "Batch norm is given one mean per position",
        "(L,) for \"batch\", or (L, C).",
        "Batch norm pools samples and positions. Which axis is left?",
        (BATCH, "return (l,)"),
    ),
    in_shape(
        "batch-per-position-and-channel", "values", "Batch norm is given one mean per position and channel",
        "(L, C) for \"batch\".",
        "A sequence has many positions; batch norm pools them with the samples. Which axis is left?",
        (BATCH, "return (l, c)"),
    ),
    in_shape(
        "groups-first", "values", "The groups stand before the samples",
        "(G, N) for \"group\".",
        "The axes that are left keep the order that they have in the data.",
        (GROUP, "return (num_groups, n)"),
    ),
    in_shape(
        "group-size", "values", "The number of channels in a group stands in place of the number of groups",
        "(N, C / G) for \"group\".",
        "The channels inside a group are averaged away. What is left of the axis C?",
        (GROUP, "return (n, c // num_groups)"),
    ),
    in_shape(
        "groups-per-position", "values", "Group norm is given one mean per position and group",
        "(N, L, G) for \"group\".",
        "Group norm averages over the positions as well.",
        (GROUP, "return (n, l, num_groups)"),
    ),
    in_shape(
        "groups-without-samples", "values", "Group norm is given one mean per group, for all samples together",
        "(G,) for \"group\".",
        "Does one sample's output depend on the others, in group norm?",
        (GROUP, "return (num_groups,)"),
    ),
    in_shape(
        "groups-flattened", "values", "Samples and groups are multiplied into one axis",
        "(N * G,) for \"group\": the right count, another shape.",
        "How many axes does the table of the page give for groups?",
        (GROUP, "return (n * num_groups,)"),
    ),
    in_shape(
        "count-not-shape", "values", "The number of means is returned, not their shape",
        "A number where a tuple is asked for.",
        "Two norms of the page have 32 means each. Does the number tell them apart?",
        (BATCH, "return c"), (LAYER, "return n"), (TOKEN, "return n * l"), (GROUP, "return n * num_groups"),
    ),
    in_shape(
        "list", "values", "A list is returned, not a tuple",
        "[C] is not equal to (C,).",
        "What does tensor.shape compare equal to? Try both.",
        (BATCH, "return [c]"), (LAYER, "return [n]"), (TOKEN, "return [n, l]"), (GROUP, "return [n, num_groups]"),
    ),
    in_shape(
        "brackets-without-comma", "values", "Brackets without a comma: a number is returned where a tuple with one entry is meant",
        "A number for \"batch\" and \"layer\", tuples for the others.",
        "Ask Python for type((3)) and type((3,)).",
        (BATCH, "return (c)"), (LAYER, "return (n)"),
    ),
    in_shape(
        "length-and-channels-exchanged", "values", "The input is taken to be (N, C, L)",
        "(L,) for \"batch\", (N, C) for \"token\".",
        "The page's x is (N, L, C); only some of its layers are given the transposed one. Which axis holds the channels?",
        (BATCH, "return (l,)"), (TOKEN, "return (n, c)"),
    ),
    in_shape(
        "other-keywords", "values", "The arguments have other names",
        "Calls by keyword raise a TypeError.",
        "Callers use the names in the contract: n, l, c and num_groups.",
        ("def statistics_shape(kind, n, l, c, num_groups=None):",
         "def statistics_shape(kind, batch, length, channels, groups=None):\n"
         "    n, l, c, num_groups = batch, length, channels, groups"),
    ),
    in_shape(
        "groups-needed-always", "values", "num_groups has no default",
        "A TypeError for every kind that has no groups.",
        "Which of the four kinds have use for a number of groups?",
        ("num_groups=None", "num_groups"),
    ),
    in_shape(
        "unknown-kind-nothing", "errors", "For an unknown kind nothing is raised, and None is returned",
        "The caller goes on with None and fails somewhere else.",
        "What does a Python function return when it comes to its end? Who tells the caller about a misspelt kind?",
        (UNKNOWN, ""),
    ),
    in_shape(
        "unknown-kind-is-group", "errors", "Every kind that is not one of the others is taken for groups",
        "A misspelt kind is answered with (N, G).",
        "What does your last else stand for? Call the function with a kind that does not exist.",
        ('    if kind == "group":\n        return (n, num_groups)\n' + UNKNOWN, "    return (n, num_groups)\n"),
    ),
    in_shape(
        "unknown-kind-returned", "errors", "For an unknown kind an error is returned, not raised",
        "The caller gets an exception object, or a text, as if it were a shape.",
        "What is the difference between return and raise, for the one who called?",
        (UNKNOWN, '    return f"unknown kind {kind!r}"\n'),
    ),
)  # fmt: skip
