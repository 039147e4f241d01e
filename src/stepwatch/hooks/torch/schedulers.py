"""Schedules of learning rates: when they step, and how many steps they are made for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import torch
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

# How schedulers of torch call it.
_TOTALS = ("total_steps", "T_max", "total_iters")
# How functions that other libraries give to ``LambdaLR`` call it.
_TOTAL_OF_FUNCTION = "num_training_steps"


class SchedulerWatcher(Protocol):
    """What the wrapper tells."""

    def saw_scheduling(self, scheduler: LRScheduler) -> None:
        """A schedule was told by the script to take a step."""


def scheduler_steps() -> Iterator[tuple[type[LRScheduler], str]]:
    """Yield the classes of torch that have a ``step`` of their own, and what to wrap of each."""
    for kind in vars(lr_scheduler).values():
        if isinstance(kind, type) and issubclass(kind, LRScheduler) and "step" in vars(kind):
            # Warnings of ``step`` name the line that called it, which is to be the script's.
            yield kind, "_update_lr" if "_update_lr" in vars(kind) else "step"


def scheduler_wrapper(watcher: SchedulerWatcher) -> Callable[[Any], Any]:
    """Return what wraps the steps of all these classes.

    Told are the calls of the script: not the first, by which a scheduler makes itself, nor those
    of a scheduler that is made of others.
    """
    depth = 0

    def make(original: Any) -> Any:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if torch.compiler.is_compiling():
                return original(scheduler, *args, **kwargs)
            depth += 1
            try:
                result = original(scheduler, *args, **kwargs)
            finally:
                depth -= 1
            if not depth and not getattr(scheduler, "_is_initial", False):
                watcher.saw_scheduling(scheduler)
            return result

        return step

    return make


def planned_steps(scheduler: LRScheduler) -> float | None:
    """Return for how many steps a schedule was made; ``None`` if it does not tell.

    ``OneCycleLR`` tells, and what is annealed or decayed to an end; ``LambdaLR`` if it was given
    a ``functools.partial`` with ``num_training_steps``, as transformers does.
    """
    functions = getattr(scheduler, "lr_lambdas", ())
    given = [one.keywords.get(_TOTAL_OF_FUNCTION) for one in functions if isinstance(one, partial)]
    for total in (*(getattr(scheduler, name, None) for name in _TOTALS), *given):
        if isinstance(total, (int, float)) and not isinstance(total, torch.Tensor) and total > 0:
            return float(total)
    return None
