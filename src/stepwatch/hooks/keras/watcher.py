"""From what one model does to observations."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import keras

from ...capture.guard import guarded
from ...capture.recorder import Recorder
from ...steps import Mode
from ..observed.met import Met
from ..observed.observations import Observations, Packed
from .backend import Array, Backend, tensors_in
from .names import ModelNames, slot_names
from .seen import Seen
from .taken import Taken
from .taps import TAPS

MODES = {"train": Mode.TRAIN, "test": Mode.EVAL, "predict": Mode.PREDICT}
LOSS = "loss/loss"


class Owner(Protocol):
    """The hook, as a watcher needs it."""

    strict: bool
    failure: str
    active: bool
    recorder: Recorder
    backend: Backend
    observations: Observations
    seen: Seen

    def begins(self, mode: Mode, model: Any) -> Mode:
        """A step begins; return which mode it counts as."""

    def is_over(self) -> None:
        """It is over, but for what the script saves with it."""

    def alone(self) -> AbstractContextManager[None]:
        """Let the other hooks of this run look away."""

    def observe(self, name: str, kind: str, value: Array, mode: Mode | None = None) -> None:
        """Observe a tensor."""

    def detach(self) -> None:
        """Let go of Keras."""


class Watcher:
    """Watches what a model runs for each batch of one kind.

    Args:
        owner: The hook.
        model: The model, built.
        kind: ``train``, ``test`` or ``predict``.
    """

    def __init__(self, owner: Owner, model: Any, kind: str) -> None:
        self.owner, self.strict = owner, owner.strict
        self._backend, self._observations = owner.backend, owner.observations
        self._model, self._kind, self._mode = model, kind, MODES[kind]
        self._names = ModelNames(model)
        self._taken: Taken | None = None
        self._thread = 0
        self._slots: list[str] = []
        #: What each trace of the step meets.
        self._traces: list[Packed] = []

    @property
    def failure(self) -> str:
        """What ended capturing; the hook keeps it."""
        return self.owner.failure

    @failure.setter
    def failure(self, failure: str) -> None:
        self.owner.failure = failure

    def detach(self) -> None:
        """Let go of Keras."""
        self.owner.detach()

    # A batch; see ``Session``

    @guarded
    def begins(self, trainable: Sequence[Any], non_trainable: Sequence[Any]) -> None:
        """A batch is about to run, with these values of the model's variables."""
        if self.owner.active:
            self._mode = self.owner.begins(MODES[self._kind], self._model)
            self._name()
            if self._kind == "train":
                weights = self._variables(trainable, non_trainable)
                self._observations.observe(self._mode, list(weights))

    @contextmanager
    def taking(self) -> Iterator[Taken]:
        """What runs inside is a step, or is traced as one."""
        taken = Taken(self._backend.place)
        before, self._taken = self._taken, taken
        self._thread = threading.get_ident()
        TAPS.listen(self)
        try:
            yield taken
        finally:
            TAPS.leave(self)
            self.owner.seen.missed |= taken.missed
            self._taken = before

    def note(self, what: str) -> None:
        """Say in the coverage line what is not captured."""
        self.owner.seen.notes.add(what)

    def packed(self, taken: Taken) -> dict[str, Any]:
        """Return what was met in a form in which it can leave the step."""
        return self._packed(taken) or {}

    @guarded
    def _packed(self, taken: Taken) -> dict[str, Any] | None:
        packed = self._observations.packed(taken.met)
        self._traces.append(packed)
        trace = keras.ops.convert_to_tensor(len(self._traces) - 1, "int32")
        beside = {"trace": trace, "values": packed.values, "words": packed.words}
        packed.release()
        return beside

    @guarded
    def ran(self, beside: Mapping[str, Any], returned: object, kept: Sequence[Any]) -> None:
        """A batch ran."""
        if not self.owner.active:
            return
        if beside:
            packed = self._traces[int(beside["trace"])]
            self._observations.note(self._mode, packed, beside["values"], beside["words"])
        self._backend.finish()
        if isinstance(returned, Mapping):
            self._logs(returned)
        if self._kind == "train" and self.owner.recorder.open_step(self._mode).wants(_STATES):
            self._observations.observe(self._mode, list(self._states(kept)))
        self.owner.is_over()

    # What is met; see ``Listener``

    @guarded
    def returned(self, layer: Any, output: Any) -> None:
        """A layer returned."""
        name = self._names.of_layer(layer)
        if name is not None:
            for path, tensor in tensors_in(output):
                self._meet(f"output/{name}{path}", "outputs", tensor)

    @guarded
    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        """A loss was computed."""
        self._meet(LOSS, "losses", loss)
        for what, kind, key in (("prediction", "predictions", "y_pred"), ("label", "labels", "y")):
            for path, tensor in tensors_in(given.get(key)):
                self._meet(f"{what}/loss{path}", kind, tensor)

    @guarded
    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """An optimizer is about to apply gradients."""
        if self._taken is None:
            return
        self._name()  # it may have been built just now
        scale = getattr(optimizer, "dynamic_scale", optimizer.loss_scale_factor)
        wanted = self.owner.recorder.plan.wants("gradients")
        for gradient, variable in zip(gradients, variables, strict=False):
            if wanted and gradient is not None:
                value = self._backend.stored(gradient)
                value = value if scale is None else keras.ops.divide(value, scale)
                self._meet(f"gradient/{self._names.of_variable(variable)}", "gradients", value)
        number = len(self._taken.optimizers)
        self._taken.optimizers.append(optimizer)
        rate = keras.ops.convert_to_tensor(optimizer.learning_rate)
        self._meet(f"learning_rate/{number}", "learning_rates", rate)

    def _name(self) -> None:
        if self._names.num_variables != len(self._model.variables):
            self._names = ModelNames(self._model)
        if self._kind == "train":
            self.owner.seen.trains(self._names)

    def _meet(self, name: str, collection: str, value: Any) -> None:
        is_here = self._taken is not None and threading.get_ident() == self._thread
        if self._taken is None or not is_here or not self.owner.active:
            return
        if not self.owner.recorder.plan.wants(collection):
            return
        if self._backend.at_once is None:
            self._taken.add(name, collection, value)
        else:
            self._backend.at_once(
                self.owner.recorder.open_step(self._mode), name, value, collection
            )
            self._observations.names.add(name)

    # What is there between steps

    def _variables(self, trainable: Sequence[Any], non_trainable: Sequence[Any]) -> Iterator[Met]:
        for values, variables, trains in (
            (trainable, self._model.trainable_variables, True),
            (non_trainable, self._model.non_trainable_variables, False),
        ):
            for value, variable in zip(values, variables, strict=True):
                name = self._names.of_variable(variable)
                if id(variable) in self._names.weights:
                    yield Met(name, "weights", value, trains)
                elif variable.name != "seed_generator_state":
                    yield Met(name, "buffers", value)

    def _states(self, values: Sequence[Any]) -> Iterator[Met]:
        if len(self._slots) != len(values):
            weights = self._model.trainable_variables
            named = [(variable, self._names.of_variable(variable)) for variable in weights]
            self._slots = slot_names(self._model.optimizer, named)
        for slot, value in zip(self._slots, values, strict=True):
            if slot != "learning_rate":
                yield Met(f"optimizer_state/{slot}", _STATES, value)

    def _logs(self, logs: Mapping[str, Any]) -> None:
        numbers = {key: self._backend.to_numpy(value) for key, value in logs.items()}
        for key, number in numbers.items():
            if number.ndim == 0 and number.dtype.kind in "fiub":
                self.owner.observe(f"metric/{key}", "metrics", number, self._mode)
        # A step of the script's own may compute its loss in its own way.
        if LOSS not in self._observations.names and "loss" in numbers:
            self.owner.observe(LOSS, "losses", numbers["loss"], self._mode)


_STATES = "optimizer_states"
