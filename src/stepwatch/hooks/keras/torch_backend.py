"""Keras on PyTorch: every step runs as Python, and what is observed is read at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import torch

from ..torch.observe import Observer
from ..torch.tensors import to_numpy
from .backend import Array, EagerObserver, Session, pack_stats


class TorchBackend:
    """How PyTorch runs models; see ``Backend``."""

    def __init__(self) -> None:
        self.on_host = not torch.cuda.is_available()
        self._observer = Observer()
        self.at_once: EagerObserver | None = self._observer.tensor

    def finish(self) -> None:
        self._observer.finish()

    def scope(self) -> object:
        return None

    def watch(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        make()
        function = getattr(model, f"{kind}_function")

        def run(data: Any) -> Any:
            session.begins(
                [one.value for one in model.trainable_variables],
                [one.value for one in model.non_trainable_variables],
            )
            if model.jit_compile:  # calls inside of what torch compiles are not observed
                session.note("no gradients and outputs inside of torch.compile")
                returned = function(data)
            else:
                with session.collecting():
                    returned = function(data)
            optimizer = getattr(model, "optimizer", None)
            values = () if optimizer is None else [one.value for one in optimizer.variables]
            session.ran({}, returned, values)
            return returned

        return run

    def pack(self, values: Sequence[Any]) -> tuple[Any, Any]:
        return pack_stats(values)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def to_numpy(self, value: Any) -> Array:
        return to_numpy(value) if isinstance(value, torch.Tensor) else np.asarray(value)

    def dtype_name(self, value: Any) -> str:
        return str(keras.backend.standardize_dtype(value.dtype))

    def stored(self, value: Any) -> Any:
        return value


BACKEND = TorchBackend
