"""Learning rates of optax, as its schedules give them.

optax keeps the count of updates and no learning rate. A transformation that is made of a schedule
asks it for a rate at each update, and that is observed where it is computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from ..patching import PatchSet

Function = Callable[..., Any]
_NAME = "scale_by_schedule"


class ScheduleListener(Protocol):
    """Is notified of rates; it may not raise."""

    def scheduled(self, rate: Any) -> None:
        """A schedule returned a rate, perhaps while a function is traced."""


class Schedules:
    """Wraps the schedules that transformations of optax are made of, and puts them back.

    Args:
        current: Returns the listener of a call, ``None`` for none.
    """

    def __init__(self, current: Callable[[], ScheduleListener | None]) -> None:
        self._current = current
        self._replaced = PatchSet()

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
            defined_in = sys.modules[getattr(optax, _NAME).__module__]
            for owner in dict.fromkeys((defined_in, optax)):
                self._replaced.put(owner, _NAME, self._wrapper)

    def _wrapper(self, original: Function) -> Function:
        def scale_by_schedule(step_size_fn: Function, *args: Any, **options: Any) -> Any:
            def schedule(*count: Any, **named: Any) -> Any:
                rate = step_size_fn(*count, **named)
                listener = self._current()
                if listener is not None:
                    listener.scheduled(rate)
                return rate

            return original(schedule, *args, **options)

        return scale_by_schedule
