"""From what a Keras model runs for each batch to observations, and their coverage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Protocol
from weakref import WeakSet

import keras

from ...capture.guard import guarded
from ...capture.recorder import Recorder
from ...model.steps import Mode
from ..base import coverage_line
from ..observations import Observations, PackedTensors, TensorRef
from ..patching import PatchSet
from .backend import Array, Backend, StepTrace, tensors_in
from .layers import LAYER_EVENTS, ModelNames, slot_names


class ModelCoverage:
    """Knows what there is, and what of it was missed and why."""

    def __init__(self) -> None:
        self._models: list[ModelNames] = []
        #: What was computed where it could not leave the step.
        self.missed: set[str] = set()
        #: What else is not captured.
        self.notes: set[str] = set()

    def trains(self, names: ModelNames) -> None:
        if all(names is not one for one in self._models):
            self._models = [one for one in self._models if one.model() is not names.model()]
            self._models.append(names)

    def coverage(self, observed: set[str]) -> str:
        """Return the coverage line.

        Args:
            observed: The names of what was observed.
        """
        parameters: dict[str, str | None] = {}
        outputs: dict[str, str | None] = {}
        for names in self._models:
            model = names.model()
            for variable in () if model is None else model.trainable_variables:
                name = names.of_variable(variable)
                parameters[name] = self._why(f"gradient/{name}", observed, "no gradient")
            for layer in names.callable_layers():
                outputs[layer] = self._why(f"output/{layer}", observed, "not called in this step")
        return ", ".join([coverage_line(parameters, outputs), *sorted(self.notes)])

    def _why(self, name: str, observed: set[str], absent: str) -> str | None:
        if any(one == name or one.startswith(f"{name}/") for one in observed):
            return None
        if any(one == name or one.startswith(f"{name}/") for one in self.missed):
            return "inside of a loop, a condition or a function of its own"
        return absent


MODES = {"train": Mode.TRAIN, "test": Mode.EVAL, "predict": Mode.PREDICT}
LOSS = "loss/loss"


class TrackerOwner(Protocol):
    """The hook, as a tracker needs it."""

    strict: bool
    failure: str
    active: bool
    recorder: Recorder
    backend: Backend
    observations: Observations
    model_coverage: ModelCoverage

    def begins(self, mode: Mode, model: Any) -> Mode: ...

    def is_over(self) -> None: ...

    def alone(self) -> AbstractContextManager[None]: ...

    def observe(self, name: str, kind: str, value: Array, mode: Mode | None = None) -> None: ...

    def detach(self) -> None: ...


class BatchTracker:
    """Observes what a model runs for each batch of one kind.

    Args:
        model: The model, built.
        kind: ``train``, ``test`` or ``predict``.
    """

    def __init__(self, owner: TrackerOwner, model: Any, kind: str) -> None:
        self.owner, self.strict = owner, owner.strict
        self._backend, self._observations = owner.backend, owner.observations
        self._model, self._kind, self._mode = model, kind, MODES[kind]
        self._names = ModelNames(model)
        self._step_trace: StepTrace | None = None
        self._thread = 0
        self._slots: list[str] = []
        #: What each trace of the step meets.
        self._traces: list[PackedTensors] = []

    @property
    def failure(self) -> str:
        """What ended capturing; the hook keeps it."""
        return self.owner.failure

    @failure.setter
    def failure(self, failure: str) -> None:
        self.owner.failure = failure

    def detach(self) -> None:
        self.owner.detach()

    # A batch; see ``Session``

    @guarded
    def begins(self, trainable: Sequence[Any], non_trainable: Sequence[Any]) -> None:
        if self.owner.active:
            self._mode = self.owner.begins(MODES[self._kind], self._model)
            self._name()
            if self._kind == "train":
                weights = self._variables(trainable, non_trainable)
                self._observations.observe(self._mode, list(weights))

    @contextmanager
    def collecting(self) -> Iterator[StepTrace]:
        step_trace = StepTrace(self._backend.scope)
        before, self._step_trace = self._step_trace, step_trace
        self._thread = threading.get_ident()
        LAYER_EVENTS.add(self)
        try:
            yield step_trace
        finally:
            LAYER_EVENTS.remove(self)
            self.owner.model_coverage.missed |= step_trace.missed
            self._step_trace = before

    def note(self, what: str) -> None:
        self.owner.model_coverage.notes.add(what)

    def packed(self, step_trace: StepTrace) -> dict[str, Any]:
        return self._packed(step_trace) or {}

    @guarded
    def _packed(self, step_trace: StepTrace) -> dict[str, Any] | None:
        packed = self._observations.packed(step_trace.observed)
        self._traces.append(packed)
        trace = keras.ops.convert_to_tensor(len(self._traces) - 1, "int32")
        beside = {"trace": trace, "values": packed.values, "statistics": packed.statistics}
        packed.release()
        return beside

    @guarded
    def ran(self, beside: Mapping[str, Any], returned: object, kept: Sequence[Any]) -> None:
        if not self.owner.active:
            return
        if beside:
            packed = self._traces[int(beside["trace"])]
            self._observations.note(self._mode, packed, beside["values"], beside["statistics"])
        self._backend.finish()
        if isinstance(returned, Mapping):
            self._logs(returned)
        if self._kind == "train" and self.owner.recorder.open_step(self._mode).wants(_STATES):
            self._observations.observe(self._mode, list(self._states(kept)))
        self.owner.is_over()

    # See ``LayerListener``

    @guarded
    def returned(self, layer: Any, output: Any) -> None:
        name = self._names.of_layer(layer)
        if name is not None:
            for path, tensor in tensors_in(output):
                self._note(f"output/{name}{path}", "outputs", tensor)

    @guarded
    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        self._note(LOSS, "losses", loss)
        for what, kind, key in (("prediction", "predictions", "y_pred"), ("label", "labels", "y")):
            for path, tensor in tensors_in(given.get(key)):
                self._note(f"{what}/loss{path}", kind, tensor)

    @guarded
    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        if self._step_trace is None:
            return
        self._name()  # it may have been built just now
        scale = getattr(optimizer, "dynamic_scale", optimizer.loss_scale_factor)
        wanted = self.owner.recorder.plan.wants("gradients")
        for gradient, variable in zip(gradients, variables, strict=False):
            if wanted and gradient is not None:
                value = self._backend.stored(gradient)
                value = value if scale is None else keras.ops.divide(value, scale)
                self._note(f"gradient/{self._names.of_variable(variable)}", "gradients", value)
        number = len(self._step_trace.optimizers)
        self._step_trace.optimizers.append(optimizer)
        rate = keras.ops.convert_to_tensor(optimizer.learning_rate)
        self._note(f"learning_rate/{number}", "learning_rates", rate)

    def _name(self) -> None:
        if self._names.num_variables != len(self._model.variables):
            self._names = ModelNames(self._model)
        if self._kind == "train":
            self.owner.model_coverage.trains(self._names)

    def _note(self, name: str, collection: str, value: Any) -> None:
        is_here = self._step_trace is not None and threading.get_ident() == self._thread
        if self._step_trace is None or not is_here or not self.owner.active:
            return
        if not self.owner.recorder.plan.wants(collection):
            return
        if self._backend.at_once is None:
            self._step_trace.add(name, collection, value)
        else:
            self._backend.at_once(
                self.owner.recorder.open_step(self._mode), name, value, collection
            )
            self._observations.names.add(name)

    # What is there between steps

    def _variables(
        self, trainable: Sequence[Any], non_trainable: Sequence[Any]
    ) -> Iterator[TensorRef]:
        for values, variables, trains in (
            (trainable, self._model.trainable_variables, True),
            (non_trainable, self._model.non_trainable_variables, False),
        ):
            for value, variable in zip(values, variables, strict=True):
                name = self._names.of_variable(variable)
                if id(variable) in self._names.weights:
                    yield TensorRef(name, "weights", value, trains)
                elif variable.name != "seed_generator_state":
                    yield TensorRef(name, "buffers", value)

    def _states(self, values: Sequence[Any]) -> Iterator[TensorRef]:
        if len(self._slots) != len(values):
            weights = self._model.trainable_variables
            named = [(variable, self._names.of_variable(variable)) for variable in weights]
            self._slots = slot_names(self._model.optimizer, named)
        for slot, value in zip(self._slots, values, strict=True):
            if slot != "learning_rate":
                yield TensorRef(f"optimizer_state/{slot}", _STATES, value)

    def _logs(self, logs: Mapping[str, Any]) -> None:
        numbers = {key: self._backend.to_numpy(value) for key, value in logs.items()}
        for key, number in numbers.items():
            if number.ndim == 0 and number.dtype.kind in "fiub":
                self.owner.observe(f"metric/{key}", "metrics", number, self._mode)
        # A step of the script's own may compute its loss in its own way.
        if LOSS not in self._observations.names and "loss" in numbers:
            self.owner.observe(LOSS, "losses", numbers["loss"], self._mode)


_STATES = "optimizer_states"


class ModelFunctions:
    """Makes models run instrumented functions.

    Args:
        observes: Whether a model is observed.
    """

    def __init__(
        self, owner: TrackerOwner, backend: Backend, observes: Callable[[Any], bool]
    ) -> None:
        self._owner, self._backend, self._observes = owner, backend, observes
        self._models: WeakSet[Any] = WeakSet()
        self._replaced = PatchSet()

    def attach(self) -> None:
        """Instrument the functions of models from here on, also those that are made already."""
        for kind in MODES:
            self._replaced.put(keras.Model, f"make_{kind}_function", partial(self._making, kind))

    def detach(self) -> None:
        """Let models run functions of their own again, made anew when they are needed."""
        self._replaced.remove()
        for model in self._models:
            for kind in MODES:
                name = f"{kind}_function"
                if isinstance(getattr(model, name), InstrumentedFunction):
                    setattr(model, name, DeferredFunction(model, kind))
        self._models = WeakSet()

    def _making(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def make(model: Any, force: bool = False) -> Any:
            if not self._owner.active or not self._observes(model):
                return original(model, force)
            name = f"{kind}_function"
            held = getattr(model, name)
            if force or not (isinstance(held, InstrumentedFunction) and held.owner is self._owner):
                tracker = BatchTracker(self._owner, model, kind)
                run = self._backend.instrument(model, kind, partial(original, model, True), tracker)
                setattr(model, name, InstrumentedFunction(self._owner, run))
                self._models.add(model)
            return getattr(model, name)

        return make


class InstrumentedFunction:
    """What a model runs for each batch, instrumented."""

    def __init__(self, owner: TrackerOwner, run: Callable[..., Any]) -> None:
        self.owner, self._run = owner, run

    def __call__(self, *args: Any) -> Any:
        with self.owner.alone():
            return self._run(*args)


class DeferredFunction:
    """Stands for a function of a model until it is needed, and is then made by the model itself.

    Args:
        model: The model, perhaps in the middle of its ``fit``.
        kind: ``train``, ``test`` or ``predict``.
    """

    def __init__(self, model: Any, kind: str) -> None:
        self._model, self._kind = model, kind

    def __call__(self, *args: Any) -> Any:
        getattr(self._model, f"make_{self._kind}_function")(force=True)
        return getattr(self._model, f"{self._kind}_function")(*args)
