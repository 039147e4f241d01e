"""Where torch lies: no line in it is the one of a script that asks for a loss."""

from __future__ import annotations

import os

import torch

from .. import loss_names
from ..loss_names import OURS

__all__ = ["OURS", "TORCH", "LossNames"]

TORCH = os.path.join(os.path.dirname(torch.__file__), "")  # with the slash: not torchvision


class LossNames(loss_names.LossNames):
    """Names the losses of torch."""

    def __init__(self) -> None:
        super().__init__(TORCH)
