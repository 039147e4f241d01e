"""Learning rates of optax, as its schedules give them.

optax keeps the count of updates and no learning rate. A transformation that is made of a schedule
asks it for a rate at each update, and that is observed where it is computed: as it is where optax
knows it as a learning rate, and without its sign where updates are scaled by it, as either sign is
right there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from ..patching import PatchSet

Function = Callable[..., Any]
_RATE, _FACTOR = "scale_by_learning_rate", "scale_by_schedule"


class ScheduleListener(Protocol):
    """Is notified of rates; it may not raise."""

    def scheduled(self, rate: Any, *, is_signed: bool) -> None:
        """A schedule returned a rate, perhaps while a function is traced.

        Args:
            rate: The rate.
            is_signed: A negative one goes up the gradient; else it may be turned, to go down.
        """


class Schedules:
    """Wraps the schedules that transformations of optax are made of, and puts them back.

    Args:
        current: Returns the listener of a call, ``None`` for none.
    """

    def __init__(self, current: Callable[[], ScheduleListener | None]) -> None:
        self._current = current
        self._replaced = PatchSet()
        self._is_rate = False  # a learning rate is made into such a transformation

    def wrap(self) -> None:
        """Wrap those of transformations that are made from now on, once optax is imported."""
        self._replaced.when_imported("optax", self._wrap)

    def remove(self) -> None:
        """Put back, but for what somebody else has replaced since."""
        self._replaced.remove()

    def _wrap(self) -> None:
        with suppress(AttributeError, KeyError):  # another optax than we know
            optax = sys.modules["optax"]
            # Its own learning rates are looked up where the function is defined.
            defined_in = sys.modules[getattr(optax, _FACTOR).__module__]
            for name, wrapper in ((_FACTOR, self._factor), (_RATE, self._learning_rate)):
                for owner in dict.fromkeys((defined_in, optax)):
                    self._replaced.put(owner, name, wrapper)

    def _learning_rate(self, original: Function) -> Function:
        def scale_by_learning_rate(learning_rate: Any, *args: Any, **options: Any) -> Any:
            if callable(learning_rate):
                learning_rate = self._observed(learning_rate, is_signed=True)
            self._is_rate = True
            try:
                return original(learning_rate, *args, **options)
            finally:
                self._is_rate = False

        return scale_by_learning_rate

    def _factor(self, original: Function) -> Function:
        def scale_by_schedule(step_size_fn: Function, *args: Any, **options: Any) -> Any:
            if not self._is_rate:
                step_size_fn = self._observed(step_size_fn, is_signed=False)
            return original(step_size_fn, *args, **options)

        return scale_by_schedule

    def _observed(self, function: Function, *, is_signed: bool) -> Function:
        def schedule(*count: Any, **named: Any) -> Any:
            rate = function(*count, **named)
            listener = self._current()
            if listener is not None:
                listener.scheduled(rate, is_signed=is_signed)
            return rate

        return schedule
