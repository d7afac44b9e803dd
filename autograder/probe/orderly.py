"""Give scenarios torch's default switches, whatever a notebook left, and put the notebook's back afterwards."""

from __future__ import annotations

import warnings
from contextlib import ExitStack

import torch


class Orderly:
    """A block with the default dtype, gradients, no anomaly mode, no inference mode, and silent warnings."""

    def __init__(self) -> None:
        self._inside = ExitStack()

    def __enter__(self) -> Orderly:
        self._left = torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_anomaly_enabled()
        self._inside.enter_context(warnings.catch_warnings())
        self._inside.enter_context(torch.inference_mode(False))
        self.again()
        return self

    def again(self) -> None:
        """Turn back what the code that ran since has turned."""
        if torch.is_inference_mode_enabled():
            self._inside.enter_context(torch.inference_mode(False))
        if torch.get_default_dtype() is not torch.float32:
            torch.set_default_dtype(torch.float32)
        if not torch.is_grad_enabled():
            torch.set_grad_enabled(True)
        if torch.is_anomaly_enabled():
            torch.autograd.set_detect_anomaly(False)
        warnings.simplefilter("ignore")

    def __exit__(self, *_: object) -> None:
        dtype, grad, anomaly = self._left
        self._inside.close()
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.autograd.set_detect_anomaly(anomaly)
