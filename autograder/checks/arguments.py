"""Write the arguments of a scenario as Python: numbers, tensors, models, and tuples and dictionaries of them.

Small tensors are written out; larger ones, and models, are made by this package from their recipe, so that the code stays short and
shows the same numbers to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autograder.trace.network import Maker, Network
from autograder.trace.scenario import Argument, Listed, Recipe, Sizes, draw, leaves

ROW_LENGTH = 70  # characters of numbers that still stand on one line


def imports(given: Sequence[Mapping[str, object]], most: int) -> list[str]:
    """Return the import lines that the arguments of some steps need; tensors of more than `most` elements are drawn."""
    found = [leaf for step in given for leaf in leaves(step)]
    lines = []
    if any(isinstance(leaf, Recipe) and _size(leaf) > most for leaf in found):
        lines.append("from autograder.trace.scenario import Recipe, draw")
    makers = [name for kind, name in ((Network, "make"), (Maker, "maker")) if any(isinstance(f, kind) for f in found)]
    if makers:
        kinds = ("Maker, " if "maker" in makers else "") + "Network"
        lines.append(f"from autograder.probe.network import {', '.join(makers)}")
        lines.append(f"from autograder.trace.network import {kinds}")
    return lines


def _size(recipe: Recipe) -> int:
    return math.prod(recipe.shape)


def argument(given: Argument, most: int) -> str:
    """Return an argument as code."""
    match given:
        case Recipe():
            return tensor(given, most)
        case Network():
            return f"make({_network(given)})"
        case Maker():
            return f"maker(Maker({_network(given.network)}))"
        case Sizes():
            kinds = {"Size": f"torch.Size({list(given.of)})", "list": repr(list(given.of)), "range": f"range{given.of}"}
            return kinds[given.kind]
        case Listed():
            return f"[{', '.join(argument(part, most) for part in given)}]"
        case tuple():
            return f"({', '.join(argument(part, most) for part in given)}{',' if len(given) == 1 else ''})"
        case Mapping():
            return f"{{{', '.join(f'{key!r}: {argument(part, most)}' for key, part in given.items())}}}"
        case _:
            return repr(given)


def _network(given: Network) -> str:
    layers = ", ".join(repr(layer) for layer in given.layers)
    text = f"Network(({layers}{',' if len(given.layers) == 1 else ''}), seed={given.seed}"
    return text + (f", dtype={given.dtype!r}" if given.dtype != "float64" else "") + _mode(given)


def _mode(given: Network) -> str:
    flags = ("" if given.training else ", training=False") + (", gradients=True" if given.gradients else "")
    return flags + ")"


def tensor(recipe: Recipe, most: int) -> str:
    """Return a tensor as code: its numbers when there are at most `most`, else its recipe."""
    if _size(recipe) > most:
        text = f"torch.from_numpy(draw({_recipe(recipe)}))"
    else:
        numbers = _nested(draw(recipe).tolist())
        if len(numbers) > ROW_LENGTH:
            numbers = numbers.replace("], ", "],\n        ")  # inside brackets, so any indentation will do
        text = f"torch.tensor({numbers}, dtype=torch.{recipe.dtype})"
        if _size(recipe) == 0:
            text = f"torch.zeros({recipe.shape}, dtype=torch.{recipe.dtype})"
    return text + _layout(recipe)


def _recipe(recipe: Recipe) -> str:
    plain = Recipe(recipe.shape)
    given = [
        f"{key}={value!r}"
        for key, value in vars(recipe).items()
        if key not in ("shape", "layout") and value != getattr(plain, key)
    ]
    return f"Recipe({', '.join([repr(recipe.shape), *given])})"


def _layout(recipe: Recipe) -> str:
    match recipe.layout:
        case "transposed":
            order = list(range(len(recipe.shape)))[::-1]
            return f".permute({order}).contiguous().permute({order})"
        case "strided":
            return ".repeat_interleave(2, -1)[..., ::2]"
        case "channels_last" if len(recipe.shape) == 4:
            return ".contiguous(memory_format=torch.channels_last)"
        case "channels_last" if len(recipe.shape) == 3:
            return ".permute(0, 2, 1).contiguous().permute(0, 2, 1)"
        case _:
            return ""


def _nested(given: object) -> str:
    if isinstance(given, list):
        return f"[{', '.join(_nested(part) for part in given)}]"
    return f"{given:.6g}" if isinstance(given, float) else repr(given)
