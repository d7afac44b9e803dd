"""The right files: every layer with some backward function, every manner around the plain ones."""

from __future__ import annotations

from right_backward import BACKWARD
from right_layers import LAYERS
from right_manners import MANNERS, file

from solutions.lab01_batch_norm.plain import PLAIN

_PLAIN_LAYERS = PLAIN["BatchNorm1d"] + "\n\n" + PLAIN["BatchNorm2d"]
_PLAIN_FILE = _PLAIN_LAYERS + "\n\n" + PLAIN["batch_norm_backward"]


def _files() -> dict[str, str]:
    files = {}
    layers, backwards = list(LAYERS.items()), list(BACKWARD.items())
    for i in range(max(len(layers), len(backwards))):
        (a, layer), (b, backward) = layers[i % len(layers)], backwards[i % len(backwards)]
        backward = backward.replace("    ", "\t") if a == "tabs" else backward
        files[f"{a}+{b}"] = backward + "\n\n" + layer if "__future__" in backward else layer + "\n\n" + backward
    return files | {ident: file(ident, _PLAIN_FILE) for ident in MANNERS}


RIGHT = _files()
