"""smdebug's hook for Keras."""

# ruff: noqa: ARG002  callbacks are told more than is needed

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from smdebug.core.registering import RegisteringHook
from stepwatch.hooks.keras.registered import RegisteredHook

__all__ = ["KerasHook"]

# What smdebug found without patterns, by the names that its hook gives.
_PATTERNS = {
    "weights": "/weights/((?!bias).)*$",
    "gradients": "^gradients/",
    "losses": "^(val_)?([^/]*_)?loss$",
    "metrics": "^(?!(val_)?([^/]*_)?loss$)[^/]+$",
    "layers": "/(in|out)puts(_|$)",
    "optimizer_variables": "^[A-Z][A-Za-z0-9]*/.*:0$",
}


class KerasHook(RegisteringHook, keras.callbacks.Callback):  # type: ignore[misc]  # no types
    """Saves tensors of Keras models; handed to ``fit`` among the callbacks.

    Each batch is a step, whose weights and metrics are saved when it is over. Nothing that goes
    wrong while tensors are saved reaches the training. See ``BaseHook`` for the arguments.
    """

    framework = "tensorflow"
    _registered: RegisteredHook

    def _attach(self) -> None:
        keras.callbacks.Callback.__init__(self)
        for name, pattern in _PATTERNS.items():
            self.collection_manager.get(name).include(pattern)
        super()._attach()

    def _make_registered(self) -> RegisteredHook:
        return RegisteredHook(self._hook_config)

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Return the optimizer as it is: its gradients are heard of anyway."""
        return optimizer

    def register_model(self, model: Any) -> None:
        """Do nothing: the model is that of which Keras tells its callbacks."""

    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """A batch of ``fit`` is about to run."""
        self._registered.begins(self.model, "train")

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """It is over."""
        self._registered.ends(self.model, "train", {**(logs or {}), "batch": batch})

    def on_test_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """A batch of ``evaluate`` is about to run."""
        self._registered.begins(self.model, "test")

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """It is over."""
        self._registered.ends(self.model, "test", logs or {})

    def on_predict_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """A batch of ``predict`` is about to run."""
        self._registered.begins(self.model, "predict")

    def on_predict_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """It is over."""
        self._registered.ends(self.model, "predict", {})
