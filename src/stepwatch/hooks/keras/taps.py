"""Hears of every layer, loss and optimizer of Keras, for whoever listens.

Their methods are wrapped while anybody listens, once for all hooks of a process, and then put back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import keras

from ..replaced import Replaced


class Listener(Protocol):
    """Who is told; nothing of this may raise."""

    def returned(self, layer: Any, output: Any) -> None:
        """A layer returned."""

    def lost(self, given: dict[str, Any], loss: Any) -> None:
        """A loss was computed of what was given, by the names of ``Model.compute_loss``."""

    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """An optimizer is about to apply gradients, ``None`` for those that there are not."""


class Taps:
    """Wraps what is heard of while anybody listens."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._replaced = Replaced()
        self._inside = threading.local()

    def listen(self, listener: Listener) -> None:
        """Tell this one from here on."""
        if not self._listeners:
            self._wrap()
        self._listeners = (*self._listeners, listener)

    def leave(self, listener: Listener) -> None:
        """Tell this one no more."""
        was_heard = bool(self._listeners)
        self._listeners = tuple(one for one in self._listeners if one is not listener)
        if was_heard and not self._listeners:
            self._replaced.remove()

    def _wrap(self) -> None:
        scaled = keras.optimizers.LossScaleOptimizer
        for kind, name, wrapper in (
            (keras.layers.Layer, "__call__", self._layer),
            (keras.layers.Layer, "stateless_call", self._stateless_layer),
            (keras.Model, "compute_loss", self._loss),
            (keras.Model, "_compute_loss", self._loss),
            (keras.optimizers.Optimizer, "apply", self._apply),
            (scaled, "apply", self._apply),
            (scaled, "stateless_apply", self._stateless_apply),
        ):
            self._replaced.put(kind, name, wrapper)

    def _layer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(layer: Any, *args: Any, **named: Any) -> Any:
            output = original(layer, *args, **named)
            for listener in self._listeners:
                listener.returned(layer, output)
            return output

        return call

    def _stateless_layer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def stateless_call(layer: Any, *args: Any, **named: Any) -> Any:
            found = original(layer, *args, **named)  # its output, and its variables after it
            for listener in self._listeners:
                listener.returned(layer, found[0])
            return found

        return stateless_call

    def _loss(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compute_loss(model: Any, *args: Any, **named: Any) -> Any:
            loss, is_outermost = self._nested("loss", original, model, *args, **named)
            if is_outermost:
                given = dict(zip(("x", "y", "y_pred"), args, strict=False)) | named
                for listener in self._listeners:
                    listener.lost(given, loss)
            return loss

        return compute_loss

    def _apply(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            if isinstance(grads, list | tuple):
                variables = trainable_variables or getattr(optimizer, "_trainable_variables", ())
                self._tell(optimizer, grads, variables)
            return self._nested("optimizer", original, optimizer, grads, trainable_variables)[0]

        return apply

    def _stateless_apply(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def stateless_apply(optimizer: Any, variables: Any, grads: Any, trained: Any) -> Any:
            # Its scale and its learning rate are what this says, not what its variables hold.
            mapping = list(zip(optimizer.variables, variables, strict=False))
            with keras.StatelessScope(state_mapping=mapping):
                self._tell(optimizer, grads, optimizer._trainable_variables)
            return self._nested("optimizer", original, optimizer, variables, grads, trained)[0]

        return stateless_apply

    def _tell(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        # Inside of another it is given what that one was given.
        if not getattr(self._inside, "optimizer", 0):
            for listener in self._listeners:
                listener.applies(optimizer, gradients, variables)

    def _nested(
        self, what: str, original: Callable[..., Any], *args: Any, **named: Any
    ) -> tuple[Any, bool]:
        """Call; return what it returned, and whether this was inside of no other of its kind."""
        depth = getattr(self._inside, what, 0)
        setattr(self._inside, what, depth + 1)
        try:
            return original(*args, **named), depth == 0
        finally:
            setattr(self._inside, what, depth)


#: There is one, because methods are wrapped once.
TAPS = Taps()
