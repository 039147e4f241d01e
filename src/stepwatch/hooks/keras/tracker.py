"""From what a Keras model runs for each batch to observations, and their coverage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

import keras

from ...capture.budget import Budget
from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...model.record import TensorInfo
from ...model.steps import Mode
from ..base import coverage_line, own_time, timed
from ..observations import (
    Observations,
    PackedTensors,
    RepeatedTensors,
    TensorRef,
    has_non_finite_loss,
)
from ..patching import PatchSet
from .backend import RETURNED, Array, Backend, StepTrace, Variables, tensors_in
from .layers import LAYER_EVENTS, LOSS_EVENTS, ModelNames, slot_names


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
    budget: Budget
    recorder: Recorder
    backend: Backend
    observations: Observations
    model_coverage: ModelCoverage

    def begins(self, mode: Mode, model: Any) -> OpenStep: ...

    def reads_later(self, reading: tuple[Callable[[], None], Callable[[], object]]) -> None: ...

    def is_over(self) -> None: ...

    def alone(self) -> AbstractContextManager[None]: ...

    def observe(self, name: str, kind: str, value: Array, mode: Mode | None = None) -> None: ...

    def detach(self) -> None: ...


class SideOutput(NamedTuple):
    """What leaves a trace of a step for us.

    Args:
        packed: What is known of the tensors.
        num_outputs: How many outputs hold their values.
        num_tensors: How many there are with their statistics.
        restore: Returns the values of the tensors, of those of the outputs.
    """

    packed: PackedTensors
    num_outputs: int
    num_tensors: int
    restore: Callable[[Sequence[Any]], Sequence[Any]]


class BatchTracker:
    """Observes what a model runs for each batch of one kind.

    Args:
        model: The model, built.
        kind: ``train``, ``test`` or ``predict``.
    """

    def __init__(self, owner: TrackerOwner, model: Any, kind: str) -> None:
        self.owner, self.strict, self.budget = owner, owner.strict, owner.budget
        self._backend, self._observations = owner.backend, owner.observations
        self._model, self._kind, self._mode = model, kind, MODES[kind]
        self._names = ModelNames(model)
        self._step_trace: StepTrace | None = None
        self._thread = 0
        self._weights, self._states = (
            RepeatedTensors(owner.recorder, self._observations) for _ in range(2)
        )
        self._log_infos: dict[str, TensorInfo] = {}
        self._only_losses = False
        self._traces: list[SideOutput] = []

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

    @timed
    @guarded
    def begins(self, variables: Callable[[], Variables]) -> bool:
        if not self.owner.active:
            return False
        step = self.owner.begins(MODES[self._kind], self._model)
        self._mode, self._only_losses = step.mode, step.has_only_losses
        if self._only_losses:
            return True
        self._name()
        if self._kind == "train":
            trainable, others = variables()
            self._weights.observe(
                self._mode,
                [*trainable, *others],
                (self._names, len(trainable)),
                lambda: self._variables(trainable, others),
            )
        return False

    @contextmanager
    def collecting(self, *, only_losses: bool = False) -> Iterator[StepTrace]:
        events = LOSS_EVENTS if only_losses else LAYER_EVENTS
        step_trace = StepTrace(self._backend.scope)
        before, self._step_trace = self._step_trace, step_trace
        self._thread = threading.get_ident()
        events.add(self)
        try:
            yield step_trace
        finally:
            events.remove(self)
            self.owner.model_coverage.missed |= step_trace.missed
            self._step_trace = before

    def note(self, what: str) -> None:
        self.owner.model_coverage.notes.add(what)

    def packed(self, step_trace: StepTrace) -> dict[str, Any]:
        return self._packed(step_trace) or {}

    @guarded
    def _packed(self, step_trace: StepTrace) -> dict[str, Any]:
        packed = self._observations.packed(step_trace.observed)
        outputs, restore = self._backend.as_outputs(packed.values)
        tensors = [*outputs, *packed.statistics]
        trace = len(self._traces)
        self._traces.append(SideOutput(packed, len(outputs), len(tensors), restore))
        packed.release()
        return {f"{trace}/{index}": tensor for index, tensor in enumerate(tensors)}

    def compiling(self) -> AbstractContextManager[None]:
        return own_time(self.budget)

    def ran(
        self,
        beside: Mapping[str, Any],
        returned: object,
        optimizer_variables: Callable[[], Sequence[Any]],
    ) -> None:
        if not self.owner.active:
            return
        wait = partial(self._wait, returned)
        read = partial(self._read, self._mode, beside, returned)
        if self._only_losses and self._backend.returns_early:
            self.owner.reads_later((wait, read))
        else:
            wait()
            read()
            if not self._only_losses and self._kind == "train":
                self._read_states(optimizer_variables)
        self.owner.is_over()

    @guarded
    def _wait(self, returned: object) -> None:
        self._backend.wait(returned)

    @timed
    @guarded
    def _read(self, mode: Mode, beside: Mapping[str, Any], returned: object) -> None:
        """Read what a batch has left, into the open step."""
        trace = next((key.partition("/")[0] for key in beside if key != RETURNED), None)
        if trace is not None:
            side = self._traces[int(trace)]
            tensors = [beside[f"{trace}/{index}"] for index in range(side.num_tensors)]
            values = side.restore(tensors[: side.num_outputs])
            self._observations.note(mode, side.packed, values, tensors[side.num_outputs :])
        self._backend.finish()
        step = self.owner.recorder.open_step(mode)
        if isinstance(returned, Mapping):
            self._logs(step, returned)
        if step.is_thin and mode is Mode.TRAIN and has_non_finite_loss(step):
            self.budget.observe_next_in_full()

    @timed
    @guarded
    def _read_states(self, optimizer_variables: Callable[[], Sequence[Any]]) -> None:
        if self.owner.recorder.open_step(self._mode).wants(_STATES):
            values = optimizer_variables()
            self._states.observe(
                self._mode, values, len(values), lambda: self._optimizer_states(values)
            )

    # See ``LayerListener``

    @timed
    @guarded
    def returned(self, layer: Any, output: Any) -> None:
        name = self._names.of_layer(layer)
        if name is not None:
            for path, tensor in tensors_in(output):
                self._note(f"output/{name}{path}", "outputs", tensor)

    @timed
    @guarded
    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        self._note(LOSS, "losses", loss)
        if self._only_losses:
            return
        for what, kind, key in (("prediction", "predictions", "y_pred"), ("label", "labels", "y")):
            for path, tensor in tensors_in(given.get(key)):
                self._note(f"{what}/loss{path}", kind, tensor)

    @timed
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
    ) -> Iterator[TensorRef | None]:
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
                else:
                    yield None

    def _optimizer_states(self, values: Sequence[Any]) -> Iterator[TensorRef | None]:
        weights = self._model.trainable_variables
        named = [(variable, self._names.of_variable(variable)) for variable in weights]
        slots = slot_names(self._model.optimizer, named)
        for slot, value in zip(slots, values, strict=True):
            is_rate = slot == "learning_rate"
            yield None if is_rate else TensorRef(f"optimizer_state/{slot}", _STATES, value)

    def _logs(self, step: OpenStep, logs: Mapping[str, Any]) -> None:
        numbers = {key: self._backend.to_numpy(value) for key, value in logs.items()}
        for key, number in numbers.items():
            if number.ndim == 0 and number.dtype.kind in "fiub":
                step.add(self._log_info(key, f"metric/{key}", "metrics", number), number)
        # A step of the script's own may compute its loss in its own way.
        if LOSS not in self._observations.names and "loss" in numbers:
            step.add(self._log_info("", LOSS, "losses", numbers["loss"]), numbers["loss"])

    def _log_info(self, key: str, name: str, collection: str, number: Array) -> TensorInfo:
        known = self._log_infos.get(key)
        if known is None:
            dtype = number.dtype.name
            known = self._log_infos[key] = TensorInfo(name, collection, dtype, number.shape)
        return known


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
