"""Has learning rate schedulers step at another pace than the script steps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from ...patching import PatchSet
from ..internals import is_initial_step
from ..patches import scheduler_steps


class PacedSchedulers:
    """Steps each scheduler so many times for a step of its optimizer, whatever the script does.

    A scheduler that the script never steps is found where it is made; where the script steps one
    that others were given to, as ``SequentialLR``, it is that one. ``ReduceLROnPlateau`` is left
    alone, which needs what the script tells it.

    Args:
        pace: Steps of a scheduler for one of its optimizer; below 1 it steps more rarely.
    """

    def __init__(self, pace: float) -> None:
        self._pace = pace
        self._patches = PatchSet()
        self._depth = 0
        self._made: dict[Any, Callable[..., Any]] = {}
        self._called: dict[Any, Callable[..., Any]] = {}
        self._num_calls: Counter[Any] = Counter()  # by the script, of each scheduler
        self._num_steps: Counter[Any] = Counter()
        self._num_optimizer_steps: Counter[int] = Counter()
        #: Whether any has stepped at another pace than the script's.
        self.changed = False

    def attach(self) -> None:
        for kind in {kind for kind, _ in scheduler_steps()} - {ReduceLROnPlateau}:
            self._patches.put(kind, "step", self._paced)

    def detach(self) -> None:
        self._patches.remove()

    def optimizer_stepped(self, optimizer: Optimizer) -> None:
        """An optimizer has stepped: its scheduler is to have done so as well."""
        self._num_optimizer_steps[id(optimizer)] += 1
        own = [one for one in self._called or self._made if one.optimizer is optimizer]
        if len(own) == 1:
            self._catch_up(own[0])

    def _paced(self, original: Any) -> Any:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if self._depth or is_initial_step(scheduler):
                if is_initial_step(scheduler) and not self._depth:
                    self._made[scheduler] = original
                return self._original(original, scheduler, *args, **kwargs)
            self._called[scheduler] = original
            self._num_calls[scheduler] += 1
            return self._catch_up(scheduler)

        return step

    def _catch_up(self, scheduler: Any) -> None:
        original = self._called.get(scheduler) or self._made[scheduler]
        due = int(self._pace * self._num_optimizer_steps[id(scheduler.optimizer)])
        while self._num_steps[scheduler] < due:
            self._num_steps[scheduler] += 1
            self._original(original, scheduler)
        # It may be one ahead: the script's own call follows the step of the optimizer.
        if abs(self._num_calls[scheduler] - self._num_steps[scheduler]) > 1:
            self.changed = True

    def _original(self, original: Any, scheduler: Any, *args: Any, **kwargs: Any) -> Any:
        self._depth += 1
        try:
            return original(scheduler, *args, **kwargs)
        finally:
            self._depth -= 1
