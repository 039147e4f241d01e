"""What tells the phases of a step where no tracker does: loaders, gradients, optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import dataloader

from ...capture.phases import Phases
from ..replaced import Replaced
from .loader import loader_wrapper
from .looking import in_backward
from .unseen import as_it_is, unless_traced


class TorchPhases:
    """Tells phases of what runs in this process, until ``remove``.

    Args:
        phases: Who is told.
    """

    def __init__(self, phases: Phases) -> None:
        self._phases = phases
        self._replaced = Replaced()
        self._replaced.put(dataloader._BaseDataLoaderIter, "__next__", loader_wrapper(self))
        self._replaced.put(torch.autograd, "backward", self._around)
        self._handles = [
            register_optimizer_step_pre_hook(unless_traced(self._turns("optimizer"))),
            register_optimizer_step_post_hook(unless_traced(self._turns("other"))),
        ]

    def remove(self) -> None:
        """Listen no more."""
        self._replaced.remove()
        while self._handles:
            self._handles.pop().remove()

    def saw_wait(self, seconds: float) -> None:
        """The next batch of a data loader was waited for."""
        self._phases.waited(seconds)

    def _turns(self, phase: str) -> Callable[..., None]:
        def turn(*_: object) -> None:
            self._phases.turn(phase)

        return turn

    def _around(self, original: Any) -> Any:
        def backward(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or in_backward():
                return original(*args, **kwargs)
            self._phases.turn("backward")
            try:
                return original(*args, **kwargs)
            finally:
                self._phases.turn("other")

        return as_it_is(backward)
