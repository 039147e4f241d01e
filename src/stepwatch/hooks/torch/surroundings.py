"""What is heard of all that surrounds a model in training: loaders, schedules, clipping."""

from __future__ import annotations

import torch
from torch.optim.lr_scheduler import LRScheduler

from ...capture.guard import guarded
from .clipping import gradient_norm, told_of_clipping
from .functions import Functions
from .observe import Observer
from .parameters import Parameters


class Surroundings(Functions):
    """Hears of data loaders, schedules and clipping, and observes them in the right step.

    Args:
        strict: Raise our own failures into training.
    """

    observer: Observer
    parameters: Parameters

    @guarded
    def saw_wait(self, seconds: float) -> None:
        """The next batch of a data loader was waited for; see ``Loop.waited``."""
        if self._looking():
            self.extras.loop.waited(seconds)

    @guarded
    def saw_scheduling(self, scheduler: LRScheduler, is_new: bool) -> None:
        """A schedule of learning rates took a step, or was made; see ``Loop.scheduled``."""
        if self._looking():
            self.extras.loop.scheduled(scheduler, is_new=is_new)

    @guarded
    def saw_zeroing(self) -> None:
        """Gradients were set to zero; those of an optimizer's closure are its own business."""
        if self._looking() and not self.steps.in_optimizer:
            self.extras.loop.zeroed()

    @guarded
    def after_closure(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer had its gradients computed within its step; the first are those of it."""
        if self._looking() and self.steps.in_optimizer:
            self.observer.gradients(self.steps.current(), self.parameters.of(optimizer))

    @guarded
    def gradient_norm(self, parameters: torch.Tensor | list[torch.Tensor]) -> object:
        """Return the norm of the gradients of some parameters, if it can be told."""
        return gradient_norm(parameters) if self._looking() else None

    @guarded
    def saw_clipping(self, bound: str, limit: float, before: object, after: object = None) -> None:
        """Gradients were clipped to a limit, and had these norms."""
        if self._looking():
            for name, value in told_of_clipping(bound, limit, before, after).items():
                self.observer.scalar(self.steps.current(), name, value, "optimizer")
