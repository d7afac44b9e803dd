"""A Network: a model for the grader to make, as data, so that a function can be asked about models that nobody has seen.

It builds nothing: `autograder.probe.network` does, out of torch's own layers, on either side. Its numbers follow from the seed
alone, as those of a recipe do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

# How many numbers follow each word: the fewest and the most.
SIZES = {
    "linear": (2, 3),  # in, out, and False for no bias
    "conv": (3, 3),  # channels in, channels out, width of the square kernel
    "batch_norm": (1, 2),  # C, momentum
    "batch_norm_2d": (1, 2),
    "layer_norm": (1, 1),
    "group_norm": (2, 2),  # G, C
    "instance_norm_2d": (1, 1),
    "rms_norm": (1, 1),
    "relu": (0, 0),
    "tanh": (0, 0),
    "sigmoid": (0, 0),
    "flatten": (0, 0),
    "identity": (0, 0),
    "by_row": (0, 0),  # multiplies the first row by 1, the second by 2, and so on
    "mistyped": (0, 0),  # raises a TypeError
}
BLOCK = "block"  # a nested nn.Sequential of the layers that follow
STILL = "still"  # such a block that is in evaluation mode whatever the model's mode, as a frozen part is
FROZEN = "frozen"  # such a block whose parameters want no gradient
BLOCKS = (BLOCK, STILL, FROZEN)
MAX_LAYERS = 64
MAX_SIZE = 256

Layer: TypeAlias = "tuple[str | int | float | Layer, ...]"


@dataclass(frozen=True)
class Network:
    """An nn.Sequential of `layers`, each a word and its sizes: ("linear", 4, 8), ("batch_norm", 8), ("relu",).

    Weights, biases and running statistics are drawn from the seed and lie away from their usual starting values, so that what
    forgets them shows. `gradients` gives every parameter a gradient that is already there. `changes` says that the function under
    test is to train it: then its numbers are looked at afterwards; without it they must be as before. `at` is that of a recipe.
    """

    layers: tuple[Layer, ...]
    seed: int = 0
    dtype: Literal["float32", "float64"] = "float64"
    training: bool = True
    changes: bool = False
    gradients: bool = False
    at: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be built; ValueError says which layer."""
        if _count(self.layers) > MAX_LAYERS:
            raise ValueError(f"a network of more than {MAX_LAYERS} layers; ask with a smaller one")
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"a network's dtype is float32 or float64, not {self.dtype!r}")
        for layer in self.layers:
            _check(layer)

    def in_dtype(self, dtype: str) -> Network:
        """Return the same network in another dtype."""
        return replace(self, dtype=dtype)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Maker:
    """A function of a seed that makes the network, with other numbers for each seed.

    `placed` holds those of some seeds whose numbers have a place already.
    """

    network: Network
    placed: Mapping[int, Network] = field(default_factory=dict)

    def of(self, seed: int) -> Network:
        """Return the network of a seed."""
        return self.placed.get(seed) or replace(self.network, seed=self.network.seed + 1 + seed)


def _count(layers: tuple[Layer, ...]) -> int:
    inner = [part for layer in layers if layer and layer[0] in BLOCKS for part in layer[1:]]
    return len(layers) + (_count(tuple(inner)) if inner else 0)  # type: ignore[arg-type]


def _check(layer: Layer) -> None:
    if not isinstance(layer, tuple) or not layer or not isinstance(layer[0], str):
        raise ValueError(f"a layer is a word and its sizes, as ('linear', 4, 8), not {layer!r}")
    word, *sizes = layer
    if word in BLOCKS:
        for inner in sizes:
            _check(inner)  # type: ignore[arg-type]
        return
    if word not in SIZES:
        raise ValueError(f"no layer is called {word!r}; there are {', '.join((*SIZES, *BLOCKS))}")
    fewest, most = SIZES[word]
    if not fewest <= len(sizes) <= most:
        raise ValueError(f"{word} takes {fewest} to {most} numbers; {layer!r} was given")
    if any(not isinstance(n, int | float) or not 0 <= n <= MAX_SIZE for n in sizes):
        raise ValueError(f"the numbers of a layer lie from 0 to {MAX_SIZE}; {layer!r} was given")
