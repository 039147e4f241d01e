"""What a loop of the script's own does, as gradient tapes and optimizers tell it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.python.eager.record import stop_recording

from ...capture.guard import guarded
from ...capture.recorder import Recorder
from ...steps import Mode
from ..observed.met import Met
from ..observed.observations import Observations, Packed
from .naming import Naming
from .reading import Reading, is_on_host, stored
from .slots import Slot, Slots

Note = Callable[[], None]


class Owner(Protocol):
    """The hook, as this needs it."""

    strict: bool
    failure: str
    active: bool
    recorder: Recorder

    def mode(self) -> Mode:
        """Return which mode a step counts as."""

    def end_open(self) -> None:
        """The step that is open is over."""

    def detach(self) -> None:
        """Let go of TensorFlow."""


class Tapes:
    """Observes what a tape differentiates, at once or by what is added to a graph.

    A step is over when a weight that an optimizer has moved in it is differentiated by again, or
    any weight again, where no optimizer is ever heard of.

    Args:
        owner: The hook.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner, self.strict = owner, owner.strict
        recorder = owner.recorder
        self._at_hand = Observations(recorder, Reading(on_host=is_on_host()))
        self._traced = Observations(recorder, Reading(on_host=False))
        self.naming = Naming()
        self._pending: list[tuple[object, Any, Any]] = []
        self._slots = Slots()
        self._thread = threading.get_ident()
        self._num_recording = 0
        self._moved: set[str] = set()
        self._differentiated: set[str] = set()
        # What each optimizer, and each set of weights with its loss, is numbered by.
        self._optimizers: list[Any] = []
        self._losses: list[frozenset[str]] = []
        #: The weights that were met, and why what is not captured is not.
        self.weights: dict[str, str | None] = {}
        self.notes: set[str] = set()

    @property
    def failure(self) -> str:
        """What ended capturing; the hook keeps it."""
        return self._owner.failure

    @failure.setter
    def failure(self, failure: str) -> None:
        self._owner.failure = failure

    def detach(self) -> None:
        """Let go of TensorFlow."""
        self._owner.detach()

    def observed(self) -> set[str]:
        """Return the names of all that was observed."""
        return self._at_hand.names | self._traced.names

    # What is heard

    def returned(self, layer: Any, output: Any) -> None:
        """A layer of Keras returned."""
        if self._num_recording and self._is_looking():
            self._pending.append((_place(), layer, output))

    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        """A model of Keras computed its loss, of which the tape will tell."""

    def begins(self) -> None:
        """A tape begins to record: what was met before it is of no gradient any more."""
        if self._is_here():
            if self._num_recording == 0:
                self._pending = []
            self._num_recording += 1

    def ends(self) -> None:
        """A tape records no more."""
        if self._is_here():
            self._num_recording = max(0, self._num_recording - 1)

    @guarded
    def differentiated(self, target: Any, sources: Any, gradients: Any) -> None:
        """A tape returned the gradients of a target by its sources."""
        if not self._is_looking():
            return
        pairs = zip(_flat(sources), _flat(gradients), strict=True)
        weights = [(source, gradient) for source, gradient in pairs if _is_variable(source)]
        if not weights:
            return  # by an input, as for a penalty on gradients
        with stop_recording():
            self._differentiated_by(target, weights)

    @guarded
    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """An optimizer is about to apply gradients, of which the tape has told."""
        del gradients
        if self._is_looking():
            number = _number(optimizer, self._optimizers)
            names = {self.naming.of_variable(variable) for variable in variables}
            with stop_recording():
                rate = tf.convert_to_tensor(optimizer.learning_rate)
                met = Met(f"learning_rate/{number}", "learning_rates", rate)
                self._tell([met], partial(self._moves, names))

    @guarded
    def gather(self, function: Any) -> None:
        """A function of the script has returned: take what its graph has told."""
        if self._slots and self._is_looking() and tf.executing_eagerly():
            most = self._slots.gather(function)
            if most > 1:
                self.notes.add(f"the last of {most} steps that one call of a tf.function did")

    # How

    def _differentiated_by(self, target: Any, weights: list[tuple[Any, Any]]) -> None:
        all_met = self._outputs()  # first: it learns the names of what is in a model
        named = [(self.naming.of_variable(one), one, gradient) for one, gradient in weights]
        names = frozenset(name for name, *_ in named)
        all_met += self._targets(target, names)
        wants = self._owner.recorder.plan.wants
        for name, variable, gradient in named:
            if wants("weights"):
                all_met.append(Met(name, "weights", tf.convert_to_tensor(variable), True))
            if gradient is not None and wants("gradients"):
                all_met.append(Met(f"gradient/{name}", "gradients", stored(gradient)))
        self.weights |= {name: None if g is not None else "no gradient" for name, _, g in named}
        self._tell(all_met, partial(self._step, names))

    def _step(self, names: frozenset[str]) -> None:
        """Weights are differentiated by: end the step that is over by that."""
        if names & (self._moved if self._optimizers else self._differentiated):
            self._owner.end_open()
            self._moved, self._differentiated = set(), set()
        self._differentiated |= names

    def _moves(self, names: set[str]) -> None:
        self._moved |= names

    def _tell(self, all_met: list[Met], first: Note) -> None:
        """Observe tensors now, or whenever the graph runs that is traced; call ``first`` before."""
        wants = self._owner.recorder.plan.wants
        all_met = [met for met in all_met if wants(met.collection) and _is_real(met.value)]
        if tf.executing_eagerly():
            first()
            self._at_hand.observe(self._owner.mode(), all_met)
        elif tf.distribute.get_strategy().num_replicas_in_sync > 1:
            self.notes.add("nothing inside of replicas")
        else:
            take = partial(self._take, first)
            self._slots.add(Slot(self._traced.packed(all_met), take))

    def _take(self, first: Note, packed: Packed, values: list[Any], words: list[Any]) -> None:
        first()
        self._traced.note(self._owner.mode(), packed, values, words)

    def _targets(self, target: Any, names: frozenset[str]) -> list[Met]:
        number = _number(names, self._losses)
        name = f"loss/loss_{number}" if number else "loss/loss"
        return [Met(name, "losses", one) for one in _flat(target)]

    def _outputs(self) -> list[Met]:
        """Return what layers of Keras returned in this place since the last tape began."""
        place = _place()
        here = [(layer, output) for where, layer, output in self._pending if where is place]
        self._pending = [one for one in self._pending if one[0] is not place]
        if not here:
            return []
        from ..keras.backend import tensors_in
        from ..keras.names import ModelNames

        names = self.naming.of_layers([layer for layer, _ in here], ModelNames)
        return [
            Met(f"output/{names[id(layer)]}{path}", "outputs", tensor)
            for layer, output in here
            for path, tensor in tensors_in(output)
        ]

    def _is_looking(self) -> bool:
        return self._owner.active and self._is_here()

    def _is_here(self) -> bool:
        return threading.get_ident() == self._thread


def _place() -> object:
    """Return what is the same wherever tensors of here are of use."""
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def _number(one: Any, known: list[Any]) -> int:
    """Return the place of something among what is known, where it is from now on."""
    if one not in known:
        known.append(one)
    return known.index(one)


def _flat(structure: Any) -> list[Any]:
    return list(tf.nest.flatten(structure))


def _is_real(value: Any) -> bool:
    """Return whether a tensor has a dtype with an order."""
    dtype = value.dtype
    return bool(dtype.is_floating or dtype.is_integer or dtype.is_bool)


def _is_variable(source: Any) -> bool:
    return isinstance(getattr(source, "_value", source), tf.Variable)
