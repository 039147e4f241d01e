"""Schedules of learning rates: when they step, and how many steps they are made for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol
from weakref import WeakSet

import torch
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

# How schedulers of torch call it.
_TOTALS = ("total_steps", "T_max", "total_iters")
# How functions that other libraries give to ``LambdaLR`` call it.
_TOTAL_OF_FUNCTION = "num_training_steps"


class SchedulerWatcher(Protocol):
    """What the wrapper tells."""

    def saw_scheduling(self, scheduler: LRScheduler, is_new: bool) -> None:
        """A schedule was told by the script to take a step, or was made."""


def scheduler_steps() -> Iterator[tuple[type[LRScheduler], str]]:
    """Yield the classes of torch that have a ``step`` of their own, and what to wrap of each."""
    for kind in vars(lr_scheduler).values():
        if isinstance(kind, type) and issubclass(kind, LRScheduler) and "step" in vars(kind):
            # Warnings of ``step`` name the line that called it, which is to be the script's.
            yield kind, "_update_lr" if "_update_lr" in vars(kind) else "step"


def scheduler_wrapper(watcher: SchedulerWatcher) -> Callable[[Any], Any]:
    """Return what wraps the steps of all these classes.

    Told are the calls of the script, and the first, by which a scheduler makes itself; not those
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
            if not depth:
                watcher.saw_scheduling(scheduler, getattr(scheduler, "_is_initial", False))
            return result

        return step

    return make


class Schedules:
    """The schedules of a training: how many there are, how often they stepped, where they are."""

    def __init__(self) -> None:
        self._made: WeakSet[LRScheduler] = WeakSet()
        self._stepped: WeakSet[LRScheduler] = WeakSet()
        self._num_steps = 0
        self._planned: float | None = None
        self._level: float | None = None

    def add(self, scheduler: LRScheduler, *, is_new: bool) -> None:
        """Count a step of a schedule, or one that was made."""
        self._made.add(scheduler)
        if not is_new:
            self._stepped.add(scheduler)
            self._num_steps += 1
            self._planned = planned_steps(scheduler) or self._planned

    def saw_rate(self, group: Mapping[str, object]) -> None:
        """Note the learning rate of a group whose schedule wrote down what it started from."""
        rate, base = group.get("lr"), group.get("initial_lr")
        if isinstance(rate, float) and isinstance(base, float) and base > 0:
            self._level = max(self._level or 0.0, rate / base)

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Yield what a step tells of them, by name; the level is forgotten with it."""
        level, self._level = self._level, None
        yield "scheduler_steps", self._num_steps
        if self._made:
            yield "schedulers", len(self._made)
            yield "schedulers_stepped", len(self._stepped)
        if self._planned is not None:
            yield "scheduler_total", self._planned
        if level is not None:
            yield "scheduler_level", level


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
