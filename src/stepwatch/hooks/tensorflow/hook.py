"""The hook for TensorFlow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ...capture.guard import guarded
from ...model.steps import Mode
from ..base import Hook, coverage_line
from ..patching import PatchSet
from .tapes import Tapes


class TensorFlowHook(Hook):
    """Captures what a training loop of the script's own does with ``tf.GradientTape``.

    In eager execution tensors are read at once. Inside of a ``tf.function`` statistics become part
    of its graph, which was traced after the hook was made. ``Model.fit`` is for ``KerasHook``.

    Args:
        options: As ``Hook`` takes them, ``run`` and ``policy`` among them.

    Raises:
        RunExists: ``run`` already holds a run.
        StoreError: ``run`` cannot be written to.

    Example:
        ``with TensorFlowHook(run="runs/first"):`` around the training loop.
    """

    framework = "tensorflow"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tapes = Tapes(self)
        self._replaced = PatchSet()
        self._layer_events: Any = None
        self._has_ended = False
        self.attach()

    def attach(self) -> None:
        """Take hold of TensorFlow; done when the hook is made, and again after ``detach``."""
        if self.active:
            return
        for owner, name, wrapper in (
            (tf.GradientTape, "__enter__", self._entering),
            (tf.GradientTape, "__exit__", self._leaving),
            (tf.GradientTape, "gradient", self._differentiating),
            (tf.nn, "sigmoid_cross_entropy_with_logits", self._comparing),
            (type(tf.function(_nothing)), "__call__", self._calling),
        ):
            self._replaced.put(owner, name, wrapper)
        self.active = True

    def detach(self) -> None:
        """Let go of TensorFlow; nothing is captured until ``attach``."""
        self.active = False
        if self._layer_events is not None:
            self._layer_events.remove(self._tapes)
            self._layer_events = None
        self._replaced.remove()
        self._tapes.stops()

    def finish(self) -> None:
        if self._tapes.weights:
            self.end_open()
        else:  # it is a step of another framework, of which that has said what is captured
            self.recorder.end_step(self.mode())

    def describe_coverage(self) -> str:
        outputs = {name: None for name in self._tapes.observed() if name.startswith("output/")}
        line = coverage_line(self._tapes.weights, outputs)
        return ", ".join([line, *sorted(self._tapes.notes)])

    # What the tapes call

    def mode(self) -> Mode:
        return self._mode or Mode.TRAIN

    def end_open(self) -> None:
        mode = self.mode()
        if self.recorder.is_open(mode):
            self.recorder.end_step(mode)
            self.stepped(mode)
            self._has_ended = True

    # How

    @guarded
    def _observe_layers(self) -> None:
        """Observe layers and optimizers, if the script has imported Keras."""
        keras = sys.modules.get("keras")
        if self._layer_events is None and self.active and hasattr(keras, "Model"):
            from ..keras.layers import LAYER_EVENTS

            self._layer_events = LAYER_EVENTS
            LAYER_EVENTS.add(self._tapes)

    def _entering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(tape: Any) -> Any:
            self._observe_layers()
            self._tapes.begins()
            return original(tape)

        return enter

    def _leaving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(tape: Any, *args: Any) -> Any:
            self._tapes.ends()
            return original(tape, *args)

        return leave

    def _differentiating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **named: Any) -> Any:
            gradients = original(tape, target, sources, *args, **named)
            self._tapes.differentiated(target, sources, gradients)
            self._apply_requests()
            return gradients

        return gradient

    def _comparing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def sigmoid_cross_entropy(*args: Any, **named: Any) -> Any:
            value = original(*args, **named)
            if not _is_called_by_keras():  # which says itself what a loss of it was given
                given = dict(zip(("labels", "logits"), args, strict=False)) | named
                self._tapes.compared_logits(given["logits"], given["labels"], value)
            return value

        return sigmoid_cross_entropy

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(function: Any, *args: Any, **named: Any) -> Any:
            self._tapes.calls()
            returned = original(function, *args, **named)
            self._tapes.gather(function)
            self._apply_requests()
            return returned

        return call

    def _apply_requests(self) -> None:
        """Do what was requested, if a step is over."""
        if self._has_ended:
            self._has_ended = False
            self.answer()


def _is_called_by_keras() -> bool:
    """Return whether Keras calls what stands in the place of a function, by its wrapper."""
    frame = sys._getframe(3)
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("keras", "tf_keras")


def _nothing() -> None:
    """Give ``tf.function`` something to make its class known by."""
