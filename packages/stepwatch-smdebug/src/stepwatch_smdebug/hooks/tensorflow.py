"""Gradient tapes as smdebug has them: each is a step, with what it differentiates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from stepwatch.hooks.patching import PatchSet

if TYPE_CHECKING:
    from .keras import SmdebugKerasHook


class SavedTapes:
    """Reports gradient tapes to a hook, until ``remove``.

    Inside of a ``tf.function`` a tape runs once, when the function is traced, and has no values:
    it is passed over.

    Args:
        owner: The hook.
        every: Returns whether tapes that nobody wrapped are observed. Of nested ones the outermost
            begins a step.
    """

    def __init__(self, owner: SmdebugKerasHook, every: Callable[[], bool]) -> None:
        self._owner, self._every = owner, every
        self._wrapped: WeakSet[Any] = WeakSet()
        self._depth = 0
        self._replaced = PatchSet()
        for name, make in (
            ("__enter__", self._entering),
            ("__exit__", self._leaving),
            ("gradient", self._differentiating),
        ):
            self._replaced.put(tf.GradientTape, name, make)

    def wrap(self, tape: Any) -> Any:
        """Observe this tape; return it."""
        self._wrapped.add(tape)
        return tape

    def remove(self) -> None:
        self._replaced.remove()

    def _entering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(tape: Any) -> Any:
            is_step = tape in self._wrapped or (self._depth == 0 and self._every())
            if is_step and tf.executing_eagerly():
                self._owner.tape_begins(tape)
            self._depth += 1
            return original(tape)

        return enter

    def _leaving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(tape: Any, *args: Any) -> Any:
            self._depth = max(0, self._depth - 1)
            return original(tape, *args)

        return leave

    def _differentiating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **named: Any) -> Any:
            gradients = original(tape, target, sources, *args, **named)
            if (tape in self._wrapped or self._every()) and tf.executing_eagerly():
                self._owner.differentiated(target, sources, gradients)
            return gradients

        return gradient


def tape_tensors(
    target: Any, sources: Any, gradients: Any
) -> Iterator[tuple[str, str, npt.NDArray[np.generic]]]:
    """Yield kind, name and value of what a tape differentiated, with the names of smdebug.

    Variables are as the tape found them. A sparse gradient is made dense.
    """
    flat = tf.nest.flatten
    for source, gradient in zip(flat(sources), flat(gradients), strict=True):
        variable = getattr(source, "_value", source)  # of Keras
        if not isinstance(variable, tf.Variable):
            continue
        name = str(getattr(source, "path", variable.name.rpartition(":")[0]))
        if gradient is not None:
            yield "gradients", f"gradients/{name}Grad", np.asarray(tf.convert_to_tensor(gradient))
        yield "weights", f"weights/{name}:0", variable.numpy()
    for number, loss in enumerate(flat(target)):
        yield "losses", f"loss_{number}" if number else "loss", np.asarray(loss)
