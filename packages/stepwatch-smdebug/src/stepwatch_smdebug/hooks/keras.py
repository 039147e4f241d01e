"""The hook of smdebug for Keras, handed to ``fit`` as a callback.

Weights, metrics and the variables of the optimizer are read when a batch is over. Where steps run
as Python, what layers return and the gradients are saved as well; inside of compiled steps neither
smdebug nor this hook observes any. In a loop of the script's own it saves what tapes differentiate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar
from weakref import ref

import keras
import numpy as np

from stepwatch.capture.guard import guarded
from stepwatch.hooks.keras.backend import backend, tensors_in
from stepwatch.hooks.keras.layers import LAYER_EVENTS, ModelNames, slot_names
from stepwatch.hooks.keras.tracker import MODES
from stepwatch.hooks.patching import PatchSet
from stepwatch.model.steps import Mode

from .base import SmdebugHook as Base


class SmdebugKerasHook(Base):
    """Captures of Keras models what a hook configuration asks for.

    Args:
        config: See ``SmdebugHook``, as for further ``options``.
        register_first: Save of the first model that runs without being handed over among the
            callbacks, and of gradient tapes that nobody wrapped.
    """

    framework = "keras"
    register_call = "fit(..., callbacks=[hook])"
    not_run_hint = "or hook.wrap_tape(tape); a tape inside of a tf.function is not seen"
    patterns: ClassVar[Mapping[str, str]] = {
        "weights": "(^|/)weights/((?!bias).)*$",
        "gradients": "^gradients/",
        "losses": "^(val_)?([^/]*_)?loss(_[0-9]+)?$",
        "metrics": "^(?!(val_)?([^/]*_)?loss(_[0-9]+)?$)[^/]+$",
        "layers": "/(in|out)puts(_|$)",
        "optimizer_variables": "^[A-Z][A-Za-z0-9]*/.*:0$",
    }

    def __init__(self, config: Any, *, register_first: bool = False, **options: Any) -> None:
        self._backend = backend()
        self.runs_on = frozenset({keras.backend.backend()})
        self._names: ModelNames | None = None
        self._replaced = PatchSet()
        self._tapes: Any = None
        self._root: ref[Any] | None = None
        self._is_in_batch = False
        self._finds_tapes = register_first
        super().__init__(config, rank=(0, 1), **options)
        if register_first:
            self._hook_callbacks()

    # What the callback calls

    def begins(self, kind: str, model: Any, batch: int = 0, logs: object = None) -> None:
        """A batch of ``train``, ``test`` or ``predict`` is about to run."""
        del batch, logs
        self._is_in_batch = True
        self.numbers.use(MODES[kind])
        self.before_root(model)

    @guarded
    def ends(
        self, kind: str, model: Any, batch: int, logs: Mapping[str, Any] | None = None
    ) -> None:
        """The batch is over, with these logs."""
        self._is_in_batch = False
        LAYER_EVENTS.remove(self)
        if not (self.active and self.is_due):
            return
        for collection, numbers in _numbers({**(logs or {}), "batch": batch}).items():
            self.save(numbers, collection)
        sync = getattr(model, "jax_state_sync", None)
        if sync is not None:  # in ``fit`` on JAX a model does not hold its variables
            sync()
        self.save(self._weights(model), "weights")
        if kind == "train" and model.optimizer is not None:
            self.save(self._optimizer(model), "optimizer_states")
        self.keep_first()

    @guarded
    def epoch_ends(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """An epoch is over: its logs are saved with its last step, due or not."""
        if self.active and self._steps is not None:
            for collection, numbers in _numbers({**(logs or {}), "batch": epoch}).items():
                self._steps.anyway(numbers, collection)
            self._hand_on()

    # What tapes call

    def wrap_tape(self, tape: Any) -> Any:
        """Save of this gradient tape, which is one step; return it."""
        self._hook_tapes()
        return self._tapes.wrap(tape)

    def tape_begins(self, tape: Any) -> None:
        """A tape begins to record."""
        self.numbers.use(Mode.TRAIN)
        self.before_root(tape)

    @guarded
    def differentiated(self, target: Any, sources: Any, gradients: Any) -> None:
        """A tape returned the gradients of a target by its sources."""
        if self.active and self.is_due:
            from .tensorflow import tape_tensors

            for kind, name, value in tape_tensors(target, sources, gradients):
                self.save([(name, value)], kind)
            self.keep_first()

    # What Keras defines

    def root_names(self) -> Sequence[str]:
        model = None if self._names is None else self._names.model()
        tapes = ["gradient tapes"] if self._tapes is not None and self.has_begun else []
        return tapes if model is None else [str(model.name)]

    def start_observing(self, root: Any) -> None:
        if not isinstance(root, keras.Model):
            return
        if self._names is None or self._names.num_variables != len(root.variables):
            self._names = ModelNames(root)
        LAYER_EVENTS.add(self)

    def stop_observing(self) -> None:
        LAYER_EVENTS.remove(self)

    def let_go(self) -> None:
        LAYER_EVENTS.remove(self)
        self._replaced.remove()
        if self._tapes is not None:
            self._tapes.remove()

    def copy_of(self, value: Any) -> Any:
        return np.array(self._backend.to_numpy(value))

    # What ``LAYER_EVENTS`` calls in a step that runs as Python

    @guarded
    def returned(self, layer: Any, output: Any) -> None:
        """A layer returned."""
        name = None if self._names is None else self._names.of_layer(layer)
        if name is not None and self._is_computed(output):
            found = tensors_in(output)
            self.save([(_outputs(name, path), self._array(one)) for path, one in found], "outputs")

    def called(self, layer: Any, given: Sequence[Any], call: object) -> None:
        """A layer is about to run."""

    def computed(self, loss: Any, given: Sequence[Any], value: Any, is_inside: bool) -> None:
        """An object of ``keras.losses`` was called."""

    def compared(
        self, function: Any, given: Sequence[Any], keywords: Mapping[str, Any], value: Any
    ) -> None:
        """A function of ``keras.losses`` was called."""

    def penalties_read(self) -> None:
        """A model was asked for its penalties, of which nothing is said here."""

    def drawn(self, layer: Any, seed: Any, value: Any) -> None:
        """Something random was drawn, which is not saved."""

    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        """A loss was computed, which Keras will put among its logs."""

    @guarded
    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """An optimizer is about to apply gradients."""
        del optimizer
        pairs = [
            (f"gradients/{self._path(variable)}Grad", self._backend.stored(gradient))
            for gradient, variable in zip(gradients, variables, strict=False)
            if gradient is not None
        ]
        named = [(name, self._array(value)) for name, value in pairs if self._is_computed(value)]
        self.save(named, "gradients")

    # How

    def _hook_callbacks(self) -> None:
        """Observe all batches, and tapes where there are some."""
        events = {"on_epoch_end": lambda _, *args, **named: self.epoch_ends(*args, **named)}
        for kind in MODES:
            events[f"on_{kind}_batch_begin"] = partial(self.begins, kind)
            events[f"on_{kind}_batch_end"] = partial(self.ends, kind)
        for name, event in events.items():
            patch = partial(self._notifying, event)
            self._replaced.put(keras.callbacks.CallbackList, name, patch)
        if keras.backend.backend() == "tensorflow":
            self._hook_tapes()

    def _notifying(self, event: Callable[..., None], original: Callable[..., Any]) -> Any:
        def call(callbacks: Any, *args: Any, **named: Any) -> None:
            original(callbacks, *args, **named)
            self._root = self._root or ref(callbacks.model)
            if self._root() is callbacks.model:
                event(callbacks.model, *args, **named)

        return call

    def _hook_tapes(self) -> None:
        if self._tapes is None:
            from .tensorflow import SavedTapes

            self._tapes = SavedTapes(self, lambda: self._finds_tapes and not self._is_in_batch)

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

    def _is_computed(self, value: Any) -> bool:
        """Return whether tensors have values now, and are not those of a graph."""
        first = next((one for _, one in tensors_in(value)), None)
        if first is None or type(first).__name__.endswith("Tracer"):
            return False
        return hasattr(first, "numpy") or keras.backend.backend() == "jax"


def _numbers(logs: Mapping[str, Any]) -> dict[str, list[tuple[str, Any]]]:
    """Return the numbers among the logs, by collection."""
    arrays = [(key, np.asarray(value)) for key, value in logs.items() if key != "outputs"]
    numbers = [one for one in arrays if one[1].dtype.kind in "fiub"]
    return {
        "losses": [one for one in numbers if one[0].endswith("loss")],
        "metrics": [one for one in numbers if not one[0].endswith("loss")],
    }


def _outputs(layer: str, path: str) -> str:
    return f"{layer}/outputs{path.replace('/', '_')}"


#: What ``hook_config_launch`` attaches when the framework is imported.
HOOK = SmdebugKerasHook
