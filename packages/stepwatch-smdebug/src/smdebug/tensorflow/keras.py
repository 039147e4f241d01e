"""smdebug's hook for Keras."""

# ruff: noqa: ARG002  callbacks get more than is needed

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from stepwatch_smdebug.hooks.keras import SmdebugKerasHook

from ..core.hook import BaseHook

__all__ = ["KerasHook"]


class KerasHook(BaseHook, keras.callbacks.Callback):  # type: ignore[misc]  # no types
    """Saves tensors of Keras models; handed to ``fit`` among the callbacks.

    Each batch is a step, whose weights and metrics are saved when it is over. In a loop with
    ``tf.GradientTape`` each tape that is wrapped is a step. See ``BaseHook`` for the arguments.
    """

    framework = "tensorflow"
    _registered: SmdebugKerasHook

    def _make_registered(self) -> SmdebugKerasHook:
        keras.callbacks.Callback.__init__(self)
        for name, pattern in SmdebugKerasHook.patterns.items():
            self.collection_manager.get(name).include(pattern)
        return SmdebugKerasHook(self._hook_config, stores_at_once=True)

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Return the optimizer as it is: its gradients are observed anyway."""
        return optimizer

    def wrap_tape(self, tape: Any) -> Any:
        """Save of this gradient tape, which is one step; return it.

        Inside of a ``tf.function`` nothing is saved.
        """
        return self._registered.wrap_tape(tape)

    def register_model(self, model: Any) -> None:
        """Do nothing: Keras gives the model to its callbacks."""

    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """A batch of ``fit`` is about to run."""
        self._registered.begins("train", self.model)

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """It is over."""
        self._registered.ends("train", self.model, batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """A batch of ``evaluate`` is about to run."""
        self._registered.begins("test", self.model)

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """It is over."""
        self._registered.ends("test", self.model, batch, logs)

    def on_predict_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """A batch of ``predict`` is about to run."""
        self._registered.begins("predict", self.model)

    def on_predict_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """It is over."""
        self._registered.ends("predict", self.model, batch, logs)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """An epoch of ``fit`` is over, and the evaluation after it."""
        self._registered.epoch_ends(epoch, logs)
