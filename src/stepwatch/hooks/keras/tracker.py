"""From what a Keras model runs for each batch to observations, and their coverage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

import keras
import numpy as np

from ...capture.budget import KEPT, Budget
from ...capture.guard import give_up, guarded
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...model.record import StepRecord, TensorInfo
from ...model.steps import Mode
from ...numerics.measures import Floats, scalar_value
from ..base import coverage_line, own_time, timed
from ..evidence import Evidence, row_norms, sampled, update_ratio
from ..frozen_numbers import FrozenNumbers, numbers_read
from ..losses import AS_IT_IS, Arrangement, LossCall, compared_targets
from ..nearest import NearestSamples
from ..observations import (
    Observations,
    RepeatedTensors,
    TensorRef,
)
from ..patching import PatchSet
from ..script import is_of_shape_in_script, returns_of_script
from .action_values import ActionValues
from .backend import (
    RETURNED,
    Array,
    Backend,
    Leave,
    Reading,
    StepFacts,
    StepTrace,
    Variables,
    is_floating,
    tensors_in,
)
from .layers import (
    LAYER_EVENTS,
    LOSS_EVENTS,
    LayerCall,
    ModelNames,
    RawVariables,
    TracedDraws,
    depends_on_mode,
    functions_of,
    has_own_penalties,
    is_as_drawn,
    is_in_training,
    is_penalized,
    is_unscaled,
    normalizations,
    slot_names,
)
from .losses import loss_call
from .optimizers import as_adam
from .reading import NumberReader, Numbers, SideOutput
from .setup import COLLECTION as SETUP
from .setup import (
    KEYS,
    MASKS,
    Setup,
    seen_keys,
    seen_next,
    sees_later,
    unfilled,
)


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
#: Of a model that is called more often than this in a step, the first batches are observed.
MOST_BATCHES = 64


class TrackerOwner(Protocol):
    """The hook, as a tracker needs it."""

    strict: bool
    failure: str
    active: bool
    budget: Budget
    recorder: Recorder
    backend: Backend
    observations: Observations
    nearest: NearestSamples
    model_coverage: ModelCoverage
    setup: Setup
    action_values: ActionValues
    times_set: int

    def begins(self, mode: Mode, model: Any, weights: Callable[[], Sequence[Any]]) -> OpenStep: ...

    @property
    def takes_turns(self) -> bool: ...

    def was_trained(self, model: Any) -> bool: ...

    def interval_s(self) -> float | None: ...

    def epoch(self, step: int) -> float | None: ...

    def begun_pass(self) -> int: ...

    def reads_later(self, reading: Reading) -> None: ...

    def is_over(self) -> None: ...

    def alone(self) -> AbstractContextManager[None]: ...

    def observe(self, name: str, kind: str, value: Array, mode: Mode | None = None) -> None: ...

    def detach(self) -> None: ...


class _ThinBatch(NamedTuple):
    """A batch of which only losses are observed, to be read later; see ``Reading``."""

    tracker: BatchTracker
    mode: Mode
    beside: Mapping[str, Any]
    returned: object

    def is_ready(self) -> bool:
        return self.tracker.is_ready(self.returned)

    def wait(self) -> None:
        self.tracker.wait(self.returned)

    def numbers(self) -> Numbers | None:
        return self.tracker.numbers(self.beside, self.returned)

    def read(self) -> None:
        self.tracker.read(self.mode, self.beside, self.returned)

    def was_read(self, record: StepRecord) -> None:
        self.tracker.was_read(self.beside, self.returned, record)


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
        self._numbers = NumberReader(owner.recorder, self._backend.to_numpy)
        self._evidence = Evidence(owner.observations.names, owner.nearest)
        self._updates = Updates(self._evidence, self._backend.to_numpy)
        self._calls: list[LossCall] = []
        # Of a step that runs as Python: what is known of it, and values that are still needed.
        self._facts = StepFacts()
        self._values: dict[str, Any] = {}
        # Steps of optimizers in a step that was observed in full, and in all so far.
        self._num_updates = self._num_optimizer_steps = 0
        self._num_unfilled = 0  # normalizations that have no statistics to go by
        self._draws = TracedDraws()
        self._raw = RawVariables()
        self._frozen = FrozenNumbers()
        self._reading: list[Callable[..., Any]] = []  # the functions that read numbers
        owner.action_values.note(model)

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
        step = self.owner.begins(MODES[self._kind], self._model, lambda: variables()[0])
        self._mode, self._only_losses = step.mode, step.has_only_losses
        if self._mode is Mode.EVAL and (number := self.owner.begun_pass()):
            self._evidence.numbers(step, "evaluations", {"evaluation/number": number})
        if found := self.owner.setup.found():
            self._evidence.numbers(step, "evaluations", found)
        if self._only_losses:
            return True
        self._name()
        if self._kind == "train":
            if self.owner.takes_turns and step.wants("loop"):
                self._evidence.numbers(step, "loop", {"loop/takes_turns": 1.0})
            trainable, others = variables()
            self._weights.observe(
                self._mode,
                [*trainable, *others],
                (self._names, len(trainable)),
                lambda: self._variables(trainable, others),
            )
            self._updates.before(step, self._names, self._model.trainable_variables, trainable)
        elif step.wants("loop"):
            filled = self.owner.setup.filled
            self._num_unfilled = unfilled(self._model, self._value_of(variables), filled)
        return False

    def _value_of(self, variables: Callable[[], Variables]) -> Callable[[Any], Array]:
        """Return what gives the value of a variable, which it need not hold while a batch runs."""

        @cache
        def values() -> dict[int, Any]:  # of most models none is asked for
            of_model = self._model.trainable_variables, self._model.non_trainable_variables
            pairs = zip(chain(*of_model), chain(*variables()), strict=True)
            return {id(variable): value for variable, value in pairs}

        return lambda variable: self._backend.to_numpy(values()[id(variable)])

    @contextmanager
    def collecting(self, *, only_losses: bool = False) -> Iterator[StepTrace]:
        events = LOSS_EVENTS if only_losses else LAYER_EVENTS
        step_trace = StepTrace(self._backend.scope, only_losses=only_losses)
        before, self._step_trace = self._step_trace, step_trace
        self._thread, self._calls = threading.get_ident(), []
        self._values = {}
        if self._kind == "train" and self._model not in self._frozen:
            with suppress(Exception):  # functions of a script of whatever kind
                self._reading = [one for one in functions_of(self._model) if numbers_read(one)]
                self._frozen.traced(self._model, *self._reading)
        events.add(self)
        try:
            yield step_trace
        finally:
            events.remove(self, returns=only_losses and self.owner.active)
            self.owner.model_coverage.missed |= step_trace.missed
            self._step_trace, self._facts, self._calls = before, step_trace.facts, []

    def note(self, what: str) -> None:
        self.owner.model_coverage.notes.add(what)

    @property
    def thins(self) -> bool:
        return self.budget.share is not None

    def packed(
        self, step_trace: StepTrace, when: Callable[[Leave], Sequence[Any]] | None = None
    ) -> dict[str, Any]:
        return self._packed(step_trace, when) or {}

    @guarded
    def _packed(
        self, step_trace: StepTrace, when: Callable[[Leave], Sequence[Any]] | None
    ) -> dict[str, Any]:
        everything, facts = step_trace.observed, step_trace.facts
        if when is None:
            return self._side(everything, facts, only_losses=None)
        losses = [one for one in everything if one.collection in KEPT]
        full = self._side(everything, facts, when, only_losses=False) if everything else {}
        return {**full, **self._side(losses, facts, only_losses=True)}

    def _side(
        self,
        tensor_refs: Sequence[TensorRef],
        facts: StepFacts,
        when: Callable[[Leave], Sequence[Any]] | None = None,
        *,
        only_losses: bool | None,
    ) -> dict[str, Any]:
        """Return what is to leave a step for tensors, by the trace and its place in it."""

        def leave() -> Sequence[Any]:
            packed = self._observations.packed(tensor_refs)
            outputs, restore = self._backend.as_outputs(packed.values)
            tensors = [*outputs, *packed.statistics]
            keys = [f"{len(self._traces)}/{index}" for index in range(len(tensors))]
            side = SideOutput(packed, keys, len(outputs), restore, facts, only_losses)
            self._traces.append(side)
            packed.release()
            return tensors

        tensors = leave() if when is None else when(leave)
        return dict(zip(self._traces[-1].keys, tensors, strict=True))

    def compiling(self) -> AbstractContextManager[None]:
        return own_time(self.budget)

    def ran(
        self,
        beside: Mapping[str, Any],
        returned: object,
        variables: Callable[[], Variables],
        optimizer_variables: Callable[[], Sequence[Any]],
    ) -> None:
        if not self.owner.active:
            return
        seconds = self.owner.interval_s()
        if self._only_losses and self._backend.returns_early:
            self.owner.reads_later(_ThinBatch(self, self._mode, beside, returned))
        else:
            self.wait(returned)
            self.read(self._mode, beside, returned)
            if not self._only_losses:
                self._num_updates = self._facts.num_updates
                self._observe_loop(seconds)
                if self._kind == "train":
                    self._read_states(optimizer_variables)
                    self._read_variables(variables, optimizer_variables)
            self._values = {}
        self._num_optimizer_steps += self._num_updates  # that of others is as of the last full one
        self.owner.is_over()

    def is_ready(self, returned: object) -> bool:
        """Return whether what a batch returned is computed."""
        return self._backend.is_ready(returned)

    @guarded
    def wait(self, returned: object) -> None:
        """Wait until what a batch returned is computed."""
        self._backend.wait(returned)

    @timed
    @guarded
    def read(self, mode: Mode, beside: Mapping[str, Any], returned: object) -> None:
        """Read what a batch has left, into the open step."""
        for side in self._sides(beside):
            values = side.values(beside)
            self._observations.note(mode, side.packed, values, side.statistics(beside))
            self._facts = side.facts
            if not self._only_losses:
                self._values = side.packed.arranged_values(values, self._backend.to_numpy)
        self._backend.finish()
        step = self.owner.recorder.open_step(mode)
        if not self._only_losses:
            self._add_evidence(step)
        if isinstance(returned, Mapping):
            self._logs(step, returned)

    def numbers(self, beside: Mapping[str, Any], returned: object) -> Numbers | None:
        """Return what a batch has left, if it is but numbers, as of one that was read."""
        return self._numbers.read(beside, returned if isinstance(returned, Mapping) else {})

    def was_read(self, beside: Mapping[str, Any], returned: object, record: StepRecord) -> None:
        """What a batch has left was read, and is all there is of its step."""
        logs = returned if isinstance(returned, Mapping) else {}
        names = {f"metric/{key}": key for key in logs}
        if "loss" in logs and self._is_loss_of_logs:
            names[LOSS] = "loss"
        self._numbers.was_read(record, beside, logs, self._sides(beside), names)

    def _sides(self, beside: Mapping[str, Any]) -> list[SideOutput]:
        """Return what is to be read of what a batch has left."""
        traces = sorted({int(key.partition("/")[0]) for key in beside if key != RETURNED})
        sides = [self._traces[trace] for trace in traces]
        return [side for side in sides if side.only_losses in (None, self._only_losses)]

    @timed
    @guarded
    def _read_states(self, optimizer_variables: Callable[[], Sequence[Any]]) -> None:
        if self.owner.recorder.open_step(self._mode).wants(_STATES):
            values = optimizer_variables()
            self._states.observe(
                self._mode, values, len(values), lambda: self._optimizer_states(values)
            )

    def _add_evidence(self, step: OpenStep) -> None:
        """Add what rules need of a step and of its losses beyond statistics."""
        facts, evidence = self._facts, self._evidence
        evidence.losses(step, facts.calls, self._value)
        evidence.samples(step, facts.batches, self._value)
        evidence.compared(step, facts.calls, facts.batches, self._value)
        together = None
        if facts.normalizes_batch and facts.batches:
            batch = self._value(facts.batches[0])
            together = None if batch is None or not batch.ndim else len(batch)
        compared = self._compared_targets(step) if step.wants("dependence") else {}
        evidence.targets(step, facts.calls, facts.batches, together, self._value, compared)
        evidence.padding(step, facts.calls, facts.batches, self._value)
        if self._mode is Mode.TRAIN and step.wants(SETUP):
            found = {f"setup/same_noise/{name}": 1.0 for name in facts.same_noise}
            found |= facts.mistakes
            found |= {f"setup/trained_teacher/{name}": 1.0 for name in self._trained_teachers()}
            if self._backend.traces and not self._model.run_eagerly:
                frozen = self._frozen.changed(self._model, *self._reading)
                found |= {f"setup/frozen_number/{name}": 1.0 for name in frozen}
            untracked = [one.name for one in facts.untracked if is_as_drawn(one)]
            found |= {f"setup/untracked/{name}": 1.0 for name in untracked}
            if self._is_plain:
                found |= {f"setup/raw_variable/{name}": 1.0 for name in self._raw.untrained()}
            found |= {f"setup/unused_penalty/{name}": 1.0 for name in self._unused_penalties()}
            evidence.numbers(step, SETUP, found)
        if self._mode is Mode.TRAIN and self._is_plain:
            self.owner.setup.observe(step, self._model, self._names, facts, self._value, evidence)

    def _trained_teachers(self) -> Iterator[str]:
        """Yield the models that are asked what another one is to say, and are trained with it.

        Both are given the same, the other one as in training, and this one as in evaluation.
        """
        facts = self._facts
        for given, model, in_training in facts.asked:
            others = (one for same, one, learns in facts.asked if same == given and learns)
            if in_training or not any(one is not model for one in others):
                continue
            trained = [id(one) for one in model.trainable_variables]
            name = self._names.of_layer(model)
            if name and trained and facts.updated.issuperset(trained):
                yield name

    def _unused_penalties(self) -> Iterator[str]:
        """Yield what has a penalty, where nothing asked for these and the model is updated."""
        if self._facts.reads_penalties or not self._facts.num_updates:
            return
        yield from sorted(self._facts.penalties)
        for variable in self._model.trainable_variables:
            if is_penalized(variable):
                yield self._names.of_variable(variable)

    def _compared_targets(self, step: OpenStep) -> dict[str, float]:
        """Return with how many targets losses of the script's own compare each prediction."""
        found = {}
        for name, call in self._facts.calls.items():
            row = step.rows.get(f"loss/{name}")
            prediction, label = self._value(f"prediction/{name}"), self._value(f"label/{name}")
            if call.function or row is None or prediction is None or label is None:
                continue
            loss = scalar_value(step.statistics_of(row))
            found[name] = compared_targets(prediction, label, loss)
        if self._facts.compared is not None:
            found["loss"] = self._facts.compared or self._num_samples()
        return found

    def _num_samples(self) -> float:
        """Return how many samples models were called with; of no batch that is known, 2."""
        batches = self._facts.batches
        batch = self._value(batches[0]) if batches else None
        return float(len(batch)) if batch is not None and batch.ndim else 2.0

    def _value(self, name: str) -> Array | None:
        """Return the value of a tensor that was observed in this step, where it is at hand."""
        value = self._values.get(name)
        return None if value is None else self._backend.to_numpy(value)

    @timed
    @guarded
    def _observe_loop(self, seconds: float | None) -> None:
        step, facts = self.owner.recorder.open_step(self._mode), self._facts
        if not step.wants("loop"):
            return
        numbers: dict[str, float] = {}
        if facts.modules:
            numbers["loop/modules"] = facts.modules
            if self._mode is Mode.TRAIN:
                in_eval = 0 if facts.in_training else facts.modules - facts.modules_in_training
                if not facts.modules_in_training:  # they are trained so
                    built = (one for one in normalizations(self._model) if one.built)
                    self.owner.setup.filled.update(map(id, built))
                numbers["loop/modules_in_eval"] = in_eval
            else:
                numbers["loop/modules_in_train"] = facts.modules_in_training
                if self._num_unfilled:
                    numbers["loop/modules_unfilled"] = self._num_unfilled
            if facts.dropout:
                numbers["loop/dropout"] = facts.dropout
        if self._mode is Mode.TRAIN and self.owner.times_set:
            numbers["loop/weights_set"] = self.owner.times_set
        if seconds is not None:
            numbers["loop/step_seconds"] = seconds
        if self._mode is Mode.TRAIN and (epoch := self.owner.epoch(step.mode_step)) is not None:
            numbers["loop/epoch"] = epoch
        if self._mode is Mode.TRAIN and self._is_plain:
            # So its train_step computes it: one loss, differentiated once.
            numbers["loop/backwards"] = numbers["loop/loss_weight"] = 1.0
        elif self._mode is Mode.TRAIN and facts.num_backwards and facts.num_updates:
            numbers["loop/backwards"] = facts.num_backwards
            numbers["loop/optimizer_steps"] = self._num_optimizer_steps + facts.num_updates
        if self._mode is Mode.TRAIN and (self._is_plain or facts.num_stale):
            stale = {"optimizer/stale_gradients": facts.num_stale}
            self._evidence.numbers(step, "optimizer", stale)
        if self._mode is Mode.TRAIN and facts.num_left is not None:
            left = {"optimizer/left_gradients": float(facts.num_left)}
            self._evidence.numbers(step, "optimizer", left)
        self._evidence.numbers(step, "loop", numbers)
        if self._mode is Mode.TRAIN and step.wants("policy"):
            self._evidence.numbers(step, "policy", returns_of_script())

    @timed
    @guarded
    def _read_variables(
        self,
        variables: Callable[[], Variables],
        optimizer_variables: Callable[[], Sequence[Any]],
    ) -> None:
        """Read what became of the weights."""
        step, model = self.owner.recorder.open_step(self._mode), self._model
        if step.wants("policy"):
            given = self._value("label/loss"), self._value("prediction/loss")
            if self.owner.action_values.learns(model, *given):
                copies = self.owner.action_values.found(
                    model, variables()[0], self.owner.was_trained
                )
                self._evidence.numbers(step, "policy", copies)
        self._evidence.clipping(step, model.optimizer, self._value)
        self._updates.after(step, lambda: variables()[0])
        if step.wants("embeddings"):
            for variable, value in zip(model.trainable_variables, variables()[0], strict=False):
                if id(variable) in self._names.embeddings:
                    name = self._names.of_variable(variable)
                    found = row_norms(
                        self._backend.to_numpy(value), self._value(f"gradient/{name}")
                    )
                    self._evidence.add(step, f"row_norms/{name}", "embeddings", found)
        adam = as_adam(model.optimizer)
        if adam is not None and step.wants(_STATES):
            weights = [(one, self._names.of_variable(one)) for one in model.trainable_variables]
            slots = slot_names(model.optimizer, weights)
            states = dict(zip(slots, optimizer_variables(), strict=False))
            num_steps = int(self._backend.to_numpy(states["iteration"]))
            for _, name in weights:
                gradient, moment = self._value(f"gradient/{name}"), states.get(f"{name}/velocity")
                if gradient is not None and moment is not None:
                    squares = self._backend.to_numpy(moment)
                    if squares.shape == gradient.shape and squares.size:
                        rms = adam.update_rms(sampled(gradient), sampled(squares), num_steps)
                        self._evidence.numbers(step, _STATES, {f"update_rms/{name}": rms})

    # See ``LayerListener``

    @timed
    @guarded
    def called(self, layer: Any, given: Sequence[Any], call: LayerCall) -> None:
        trace, name = self._step_trace, self._names.of_layer(layer)
        if trace is None:
            return
        facts = trace.facts
        if name is None:
            is_within = not call.is_outermost and self._kind == "train" and layer.trainable
            if is_within and layer._trainable_variables and len(facts.untracked) < MOST_BATCHES:
                facts.untracked.append(layer)
            return
        if self._kind == "train":
            self._draws.begins(layer, given)
            self._raw.note(layer, name)
        if depends_on_mode(layer) and call.training is not None:
            facts.modules += 1
            in_training = is_in_training(layer, call.training)
            facts.modules_in_training += in_training
            if in_training:
                facts.dropout = max(facts.dropout, float(getattr(layer, "rate", 0.0)))
            if in_training and isinstance(layer, keras.layers.BatchNormalization):
                facts.normalizes_batch = True
        if sees_later(layer, given, call.keywords):
            facts.see_later.add(name)
        self._note_mask(name, layer, given, call)
        facts.in_training |= call.is_outermost and bool(call.training)
        if not call.is_outermost or facts.num_calls >= MOST_BATCHES:
            return
        if layer is not self._model and given and call.training is not None:
            facts.asked.append((id(given[0]), layer, call.training))
        batch = f"batch_{facts.num_calls}" if facts.num_calls else "batch"
        facts.num_calls += 1
        path = batch if layer is self._model else f"{batch}/{name}"
        for tensor_path, tensor in tensors_in(list(given), path):
            if self._note(tensor_path, "batches", tensor):
                facts.batches.append(tensor_path)

    def _note_mask(self, name: str, layer: Any, given: Sequence[Any], call: LayerCall) -> None:
        """Note what a mask of attention lets a position of a training step see that follows it."""
        trace = self._step_trace
        if trace is None or self._kind != "train" or name in trace.facts.masked:
            return
        if self.owner.recorder.plan.wants(SETUP):
            with suppress(Exception):  # of a mask of another shape the layer itself says so
                counts = seen_next(layer, given, call.keywords)
                if counts is not None and self._note(f"{MASKS}{name}", SETUP, counts):
                    trace.facts.masked.add(name)
                keys = seen_keys(layer, call.keywords)
                if keys is not None and self._note(f"{KEYS}{name}", SETUP, keys):
                    trace.facts.masked.add(name)

    @timed
    @guarded
    def computed(self, loss: Any, given: Sequence[Any], value: Any, is_inside: bool) -> None:
        label, prediction = given
        call = loss_call(loss, label, prediction)
        if is_inside:
            self._calls.append(call)
        elif self._step_trace is not None:
            facts = self._step_trace.facts
            name = f"loss_{facts.num_losses}" if facts.num_losses else "loss"
            facts.num_losses += 1
            value = value if not value.shape else keras.ops.mean(value)
            self._note(f"loss/{name}", "losses", value, call.computed_by)
            if not self._step_trace.only_losses:
                self._note_given(name, call)

    @timed
    @guarded
    def compared(
        self,
        function: Any,
        given: Sequence[Any],
        keywords: Mapping[str, Any],
        value: Any,  # noqa: ARG002
    ) -> None:
        # The first only: what becomes of its value, and which is the loss, the script knows.
        if self._step_trace is not None and not self._step_trace.facts.calls:
            label, prediction = given
            self._note_given("loss", loss_call(function, label, prediction, keywords))

    @timed
    @guarded
    def drawn(self, layer: Any, seed: Any, value: Any) -> None:
        # By a number the same is drawn each time; for weights, as of random features, on purpose.
        is_number = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
        name = self._names.of_layer(layer)
        if self._step_trace is None or self._kind != "train" or not is_number or name is None:
            return
        if is_of_shape_in_script(tuple(getattr(value, "shape", ()))):
            self._step_trace.facts.same_noise.add(name)

    def penalties_read(self) -> None:
        if self._step_trace is not None:
            self._step_trace.facts.reads_penalties = True

    @timed
    @guarded
    def returned(self, layer: Any, output: Any) -> None:
        name = self._names.of_layer(layer)
        if name is not None and self._step_trace is not None:
            if has_own_penalties(layer):
                self._step_trace.facts.penalties.add(name)
            if self._draws.ended(layer):
                self._step_trace.facts.same_noise.add(name)
        if name is not None:
            for path, tensor in tensors_in(output):
                self._note(f"output/{name}{path}", "outputs", tensor)

    @timed
    @guarded
    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        calls, self._calls = self._calls, []
        self._note(LOSS, "losses", loss, calls[0].computed_by if len(calls) == 1 else "")
        if self._step_trace is None or self._step_trace.only_losses:
            return
        if (penalties := self._model.losses) and self.owner.recorder.plan.wants("loop"):
            self._note("loop/penalty", "loop", sum(penalties[1:], penalties[0]))
        predictions = list(tensors_in(given.get("y_pred")))
        labels = dict(tensors_in(given.get("y")))
        for path, tensor in predictions:
            call = next((one for one in calls if one.prediction is tensor), None)
            if call is None and len(calls) == len(predictions) == 1:
                call = calls[0]
            if call is None:
                self._note(f"prediction/loss{path}", "predictions", tensor)
            else:
                labels.pop(path, None)
                self._note_given(f"loss{path}", call)
        for path, tensor in labels.items():
            if not any(one.label is tensor for one in calls):
                self._note(f"label/loss{path}", "labels", tensor)

    def _note_given(self, name: str, call: LossCall) -> None:
        """Note what a loss of this name was computed of."""
        if self._step_trace is not None:
            self._step_trace.facts.calls[name] = replace(call, prediction=None, label=None)
        for what, kind, value, arranged in call.given:
            for path, tensor in tensors_in(value):
                self._note(f"{what}/{name}{path}", kind, tensor, call.function, arranged)

    @timed
    @guarded
    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        if self._step_trace is None:
            return
        number = len(self._step_trace.optimizers)
        self._step_trace.optimizers.append(optimizer)
        rate = keras.ops.convert_to_tensor(optimizer.learning_rate)
        self._note(f"learning_rate/{number}", "learning_rates", rate)
        if self._step_trace.only_losses:
            return
        self._name()  # it may have been built just now
        if is_unscaled(optimizer):
            self._step_trace.facts.mistakes[f"setup/unscaled_loss/{optimizer.name}"] = 1.0
        scale = getattr(optimizer, "dynamic_scale", optimizer.loss_scale_factor)
        wanted = self.owner.recorder.plan.wants("gradients")
        for gradient, variable in zip(gradients, variables, strict=False):
            if wanted and gradient is not None:
                value = self._backend.stored(gradient)
                value = value if scale is None else keras.ops.divide(value, scale)
                self._note(f"gradient/{self._names.of_variable(variable)}", "gradients", value)
        if self._backend.is_stale(gradients):
            self._step_trace.facts.num_stale = len(gradients)
        if (left := self._backend.num_left(optimizer, variables)) is not None:
            self._step_trace.facts.num_left = left
        self._step_trace.differentiated()
        self._step_trace.facts.num_updates += 1
        pairs = zip(gradients, variables, strict=False)
        self._step_trace.facts.updated |= {id(one) for of, one in pairs if of is not None}

    @property
    def _is_plain(self) -> bool:
        """Whether the model trains by the ``train_step`` of Keras."""
        return str(type(self._model).train_step.__module__).startswith("keras.")

    def _name(self) -> None:
        if self._names.num_variables != len(self._model.variables):
            self._names = ModelNames(self._model)
        if self._kind == "train":
            self.owner.model_coverage.trains(self._names)

    def _note(
        self,
        name: str,
        collection: str,
        value: Any,
        function: str = "",
        arranged: Arrangement = AS_IT_IS,
    ) -> bool:
        """Observe a tensor; return whether it may be."""
        is_here = self._step_trace is not None and threading.get_ident() == self._thread
        if self._step_trace is None or not is_here or not self.owner.active:
            return False
        if not self.owner.recorder.plan.wants(collection):
            return False
        if self._backend.at_once is None:
            moved = None if arranged is AS_IT_IS else arranged
            is_needed = collection in _NEEDED and not self._step_trace.only_losses
            self._step_trace.add(
                TensorRef(name, collection, value, None, function, moved, is_needed)
            )
        else:
            step, value = self.owner.recorder.open_step(self._mode), arranged.value(value)
            self._backend.at_once(step, name, value, collection, function)
            self._observations.names.add(name)
            if collection in (*_NEEDED, "gradients") and not self._only_losses:
                self._values[name] = value
        return True

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
        if "loss" in numbers and self._is_loss_of_logs:
            step.add(self._log_info("", LOSS, "losses", numbers["loss"]), numbers["loss"])

    @property
    def _is_loss_of_logs(self) -> bool:
        """Whether only what a step returns says its loss, as where the script computes its own."""
        return LOSS not in self._observations.names

    def _log_info(self, key: str, name: str, collection: str, number: Array) -> TensorInfo:
        known = self._log_infos.get(key)
        if known is None:
            dtype = number.dtype.name
            known = self._log_infos[key] = TensorInfo(name, collection, dtype, number.shape)
        return known


_STATES = "optimizer_states"
# Collections of whose values summaries are made; of gradients only where they are at hand.
_NEEDED = frozenset(("batches", "predictions", "labels", SETUP))


class Updates:
    """Observes how far each weight is moved, at the steps at which that is saved.

    Args:
        to_numpy: Returns a tensor as an array.
    """

    def __init__(self, evidence: Evidence, to_numpy: Callable[[Any], Array]) -> None:
        self._evidence, self._to_numpy = evidence, to_numpy
        self._before: dict[str, Floats] = {}
        self._names: list[str] = []

    def before(
        self, step: OpenStep, names: ModelNames, weights: Sequence[Any], values: Sequence[Any]
    ) -> None:
        """A step begins: remember the weights, if it is one of those."""
        self._before, self._names = {}, []
        if not step.wants("updates"):
            return
        self._names = [names.of_variable(weight) for weight in weights]
        for name, value in zip(self._names, values, strict=False):
            if is_floating(value):
                self._before[name] = sampled(self._to_numpy(value))

    def after(self, step: OpenStep, values: Callable[[], Sequence[Any]]) -> None:
        """The step is over; ``values`` returns the weights in the same order."""
        before, self._before = self._before, {}
        ratios: dict[str, float] = {}
        for name, value in zip(self._names, values(), strict=False) if before else ():
            if name in before:
                now = sampled(self._to_numpy(value))
                if now.shape == before[name].shape:
                    ratios[f"update_ratio/{name}"] = update_ratio(before[name], now)
        self._evidence.numbers(step, "updates", ratios)


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
        LOSS_EVENTS.put_back()
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
                try:
                    tracker = BatchTracker(self._owner, model, kind)
                except Exception:
                    if self._owner.strict:
                        raise
                    give_up(self._owner, f"{type(model).__name__}.make_{kind}_function")
                    return original(model, force)
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
