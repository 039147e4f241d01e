"""While a script is run again, hooks of its own must not write into the run that they wrote."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from typing import Any

import torch

from .hook import TorchHook

_HOMES = ("stepwatch", "stepwatch.hooks.torch", "stepwatch.hooks.torch.hook")


class StandIn(TorchHook):
    """A hook that a script has made itself, which writes to memory instead."""

    def __init__(self, model: torch.nn.Module | None = None, **options: Any) -> None:
        elsewhere = {"run": f"memory://{uuid.uuid4().hex}", "tensorboard": None}
        unboxed = {"black_box_mb": 0, "snapshot_every": 0}
        super().__init__(model, **{**options, **elsewhere, **unboxed, "say": lambda _: None})


def stand_in_for_hooks() -> Callable[[], None]:
    """Give a script that imports ``TorchHook`` the stand-in; return what undoes it."""
    homes = [sys.modules[home] for home in _HOMES]
    for home in homes:
        home.TorchHook = StandIn  # type: ignore[attr-defined]

    def undo() -> None:
        for home in homes:
            home.TorchHook = TorchHook  # type: ignore[attr-defined]

    return undo
