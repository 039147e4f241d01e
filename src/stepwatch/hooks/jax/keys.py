"""Random keys that a training function is given again and again.

Functions of JAX draw the same numbers for the same key: whoever passes one key at each step draws
the same batch, dropout masks or noise each time. A key that is folded with a count inside of the
function is another at each step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

#: So many calls in a row with the very same key.
LEAST_CALLS = 20

Function = Callable[..., Any]


class RepeatedKeys:
    """Counts how often in a row each function is given one key, by the identity of the array."""

    def __init__(self) -> None:
        #: Whether a key was folded with a traced value, as the number of the step.
        self.are_folded = False
        self._last: dict[tuple[str, str], tuple[Any, int]] = {}
        self._told: set[str] = set()

    def add(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
        """Add a call that trains; return in how many calls its key was the same, if enough.

        Args:
            function: Its name.
            args: What it was called with by position,
            kwargs: and by name.
        """
        most = 0
        given = {str(place): value for place, value in enumerate(args)} | dict(kwargs)
        for place, value in given.items():
            if not _is_key(value):
                continue
            last, count = self._last.get((function, place), (None, 0))
            count = count + 1 if value is last else 1
            self._last[function, place] = value, count
            most = max(most, count)
        return most if most >= LEAST_CALLS and not self.are_folded else 0

    def is_new(self, function: str) -> bool:
        """Return whether nothing was told of a function."""
        return function not in self._told

    def tell(self, function: str) -> None:
        """Note that it was."""
        self._told.add(function)


def _is_key(value: Any) -> bool:
    if not isinstance(value, jax.Array) or value.ndim > 1:
        return False
    dtype = value.dtype
    if jax.numpy.issubdtype(dtype, jax.dtypes.prng_key):
        return True
    return bool(dtype == np.uint32 and value.shape == (2,))


def instrumented_fold(keys: Callable[[], RepeatedKeys | None]) -> Callable[[Function], Function]:
    """Return what makes what stands in the place of ``jax.random.fold_in``.

    Args:
        keys: Returns those that are counted now.
    """

    def wrapper(fold_in: Function) -> Function:
        @functools.wraps(fold_in)
        def call(*args: Any, **kwargs: Any) -> Any:
            counted = keys()
            given = (*args[1:], *kwargs.values())
            if counted is not None and any(isinstance(one, jax.core.Tracer) for one in given):
                counted.are_folded = True
            return fold_in(*args, **kwargs)

        return call

    return wrapper
