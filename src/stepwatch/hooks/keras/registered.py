"""The hook for Keras in smdebug's manner: handed to ``fit`` as a callback, told what to save.

Weights, metrics and the variables of the optimizer are read when a batch is over. Where steps run
as Python, what layers return and the gradients are saved as well; inside of compiled steps smdebug
saw none, and this does not either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from ...capture.guard import guarded
from ...steps import Mode
from ..registered import RegisteredHook as Base
from .backend import backend, tensors_in
from .names import ModelNames, slot_names
from .taps import TAPS

MODES = {"train": Mode.TRAIN, "test": Mode.EVAL, "predict": Mode.PREDICT}


class RegisteredHook(Base):
    """Captures of Keras models what a hook configuration asks for.

    Args:
        config: What to save and where, or what returns it.
        options: As of ``hooks.registered.RegisteredHook``.
    """

    framework = "keras"
    register = "fit(..., callbacks=[hook])"

    def __init__(self, config: Any, **options: Any) -> None:
        self._backend = backend()
        self._names: ModelNames | None = None
        super().__init__(config, rank=(0, 1), **options)

    # What the callback tells

    def begins(self, model: Any, kind: str) -> None:
        """A batch of ``train``, ``test`` or ``predict`` is about to run."""
        self.numbers.use(MODES[kind])
        self.before_root(model)

    @guarded
    def ends(self, model: Any, kind: str, logs: Mapping[str, Any]) -> None:
        """It is over; Keras says this of it."""
        TAPS.leave(self)
        if not (self.active and self.is_due):
            return
        prefix = "val_" if kind == "test" else ""
        numbers = {f"{prefix}{key}": np.asarray(value) for key, value in logs.items()}
        numbers = {key: one for key, one in numbers.items() if one.dtype.kind in "fiub"}
        self.save([one for one in numbers.items() if one[0].endswith("loss")], "losses")
        self.save([one for one in numbers.items() if not one[0].endswith("loss")], "metrics")
        sync = getattr(model, "jax_state_sync", None)
        if sync is not None:  # in ``fit`` on JAX a model does not hold its variables
            sync()
        self.save(self._weights(model), "weights")
        if kind == "train" and model.optimizer is not None:
            self.save(self._optimizer(model), "optimizer_states")

    # What a hook brings along

    def root_names(self) -> Sequence[str]:
        model = None if self._names is None else self._names.model()
        return [] if model is None else [str(model.name)]

    def look(self, root: Any) -> None:
        if self._names is None or self._names.num_variables != len(root.variables):
            self._names = ModelNames(root)
        TAPS.listen(self)

    def look_away(self) -> None:
        TAPS.leave(self)

    def let_go(self) -> None:
        TAPS.leave(self)

    def copy_of(self, value: Any) -> Any:
        return np.array(self._backend.to_numpy(value))

    # What ``Taps`` tells of a step that runs as Python

    @guarded
    def returned(self, layer: Any, output: Any) -> None:
        """A layer returned."""
        name = None if self._names is None else self._names.of_layer(layer)
        if name is not None and self._is_at_hand(output):
            found = tensors_in(output)
            self.save([(_outputs(name, path), self._array(one)) for path, one in found], "outputs")

    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        """A loss was computed, which Keras will tell among its logs."""

    @guarded
    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """An optimizer is about to apply gradients."""
        del optimizer
        pairs = [
            (f"gradients/{self._path(variable)}Grad", self._backend.stored(gradient))
            for gradient, variable in zip(gradients, variables, strict=False)
            if gradient is not None
        ]
        named = [(name, self._array(value)) for name, value in pairs if self._is_at_hand(value)]
        self.save(named, "gradients")

    # How

    def _weights(self, model: Any) -> Iterable[tuple[str, Any]]:
        for variable in model.variables:
            if variable.name != "seed_generator_state":
                path = self._path(variable)
                layer = path.rpartition("/")[0] or model.name
                yield f"{layer}/weights/{path}:0", self._array(variable.value)

    def _optimizer(self, model: Any) -> Iterable[tuple[str, Any]]:
        named = [(variable, self._path(variable)) for variable in model.trainable_variables]
        for slot, variable in zip(
            slot_names(model.optimizer, named), model.optimizer.variables, strict=True
        ):
            name = type(model.optimizer).__name__
            yield f"{name}/{slot}:0", self._array(variable.value)

    def _path(self, variable: Any) -> str:
        return str(variable.path) if self._names is None else self._names.of_variable(variable)

    def _array(self, value: Any) -> Any:
        return self._backend.to_numpy(value)

    def _is_at_hand(self, value: Any) -> bool:
        """Return whether tensors have values now, and are not those of a graph."""
        first = next((one for _, one in tensors_in(value)), None)
        if first is None or type(first).__name__.endswith("Tracer"):
            return False
        return hasattr(first, "numpy") or keras.backend.backend() == "jax"


def _outputs(layer: str, path: str) -> str:
    return f"{layer}/outputs{path.replace('/', '_')}"
