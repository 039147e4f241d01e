"""From gradient tapes and optimizers to the steps of a training loop that a script writes out."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
from tensorflow.python.eager.record import stop_recording

from ...capture.budget import KEPT
from ...capture.guard import guarded
from ...capture.recorder import Recorder
from ...model.steps import Mode
from ..base import timed
from ..evidence import Evidence
from ..frozen_numbers import FrozenNumbers
from ..losses import BINARY_LOGITS, LossCall
from ..nearest import NearestSamples
from ..observations import Observations, PackedTensors, TensorRef
from ..script import has_discount, main_script, next_states
from ..terminals import end_numbers
from .broadcast import OF_LOSSES, compared_in_graph
from .eager import EagerOperations
from .graphs import Condition, Slot, Slots, TensorReader, stored, variables_before


class VariableNames:
    """Names variables, each by one name for as long as it lives; and layers, if Keras is there.

    A variable of TensorFlow has the name that the script gave it, ``Variable`` if none. One that
    turns up later under a name that is in use has a number behind it: ``Variable_1``.
    """

    def __init__(self) -> None:
        self._variables: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._models: list[Any] = []

    def of_variable(self, variable: Any) -> str:
        """Return the name of a variable, of TensorFlow or of Keras."""
        for names in self._models:
            if id(variable) in names.variables:
                return str(names.variables[id(variable)])
        name = self._variables.get(id(variable))
        if name is None:
            plain = getattr(variable, "path", None) or variable.name.partition(":")[0]
            count = self._taken.get(plain, 0)
            self._taken[plain] = count + 1
            name = self._variables[id(variable)] = f"{plain}_{count}" if count else plain
            weakref.finalize(variable, self._variables.pop, id(variable), None)
        return name

    def of_layers(self, layers: Sequence[Any], names_of: Callable[[Any], Any]) -> dict[int, str]:
        """Return the names of layers that ran, by their ids.

        Args:
            layers: In the order in which they returned, so that a model comes after its parts.
            names_of: Names what is in a model: ``keras.layers.ModelNames``.
        """
        found: dict[int, str] = {}
        for layer in reversed(layers):
            if id(layer) not in found:
                found.update(self._of_model(layer, names_of).layers)
        return found

    def _of_model(self, model: Any, names_of: Callable[[Any], Any]) -> Any:
        self._models = [one for one in self._models if one.model() is not None]
        for names in self._models:
            if id(model) in names.layers and names.num_variables == len(names.model().variables):
                return names
        self._models = [one for one in self._models if one.model() is not model]
        self._models.append(names_of(model))
        return self._models[-1]


Note = Callable[[], None]


class TapeOwner(Protocol):
    """The hook, as this needs it."""

    strict: bool
    failure: str
    active: bool
    recorder: Recorder

    def mode(self) -> Mode: ...

    def end_open(self) -> None: ...

    def detach(self) -> None: ...


@dataclass
class _Facts:
    """What is known of what a tape differentiates.

    Args:
        calls: The losses of Keras, by name.
        batches: The names of what models were called with.
        compared: With how many targets written losses compare each prediction, by name; 0 for as
            many as a batch has.
        modules: How many layers ran that know training from evaluation,
        modules_in_eval: and how many of them as in evaluation.
        penalties: The weights and layers that have penalties for which nobody asks.
        is_other: Whether what is differentiated is not what was differentiated before.
    """

    calls: dict[str, Any] = field(default_factory=dict)
    compared: dict[str, int] = field(default_factory=dict)
    batches: list[str] = field(default_factory=list)
    modules: int = 0
    modules_in_eval: int = 0
    penalties: list[str] = field(default_factory=list)
    is_other: bool = True


#: Of models that are called more often than this in a step, the first batches are observed.
MOST_BATCHES = 64


# From one point of a graph so many elements leave it, where the host can read them; of more, and on
# accelerators, the graph computes statistics, which takes longer to trace.
_MOST_LEAVING = 1 << 22


class Tapes:
    """Observes what a tape differentiates, at once or by what is added to a graph.

    A step is over when a weight that an optimizer has moved in it is differentiated by again, or
    any weight again, where there is no optimizer.
    """

    def __init__(self, owner: TapeOwner) -> None:
        self._owner, self.strict = owner, owner.strict
        recorder = owner.recorder
        self._at_hand = Observations(recorder, TensorReader())
        self._nearest = NearestSamples()
        # For tensors of graphs that are too large to be copied.
        self._traced = Observations(recorder, TensorReader(always_packed=True))
        self.naming = VariableNames()
        self._pending: list[tuple[object, Any, Any]] = []
        # What models of Keras were called with, and what its losses were, since a tape began.
        self._given: list[tuple[object, Any, Any]] = []
        self._calls: list[tuple[object, Any, Any]] = []
        # Of layers that know training from evaluation, whether they ran as in training.
        self._modes: list[tuple[object, bool]] = []
        self._slots = Slots()
        self._frozen = FrozenNumbers()
        self._mistakes: dict[str, float] = {}  # of optimizers, as numbers of ``setup``
        self._once_frozen: set[int] = set()  # the ``id`` of variables whose layers were
        self.budget = recorder.budget
        self._condition: Condition | None = None
        self._only_losses = False
        self._thread = threading.get_ident()
        self._num_recording = 0
        self._reads_penalties = False
        self._operations = EagerOperations(OF_LOSSES)
        self._moved: set[str] = set()
        self._differentiated: set[str] = set()
        # What each optimizer, and each set of weights with its loss, is numbered by.
        self._optimizers: list[Any] = []
        self._losses: list[frozenset[str]] = []
        # Of losses the functions by which they were computed, when that was looked at.
        self._functions: dict[str, str] = {}
        # Whether weights were differentiated by in this step, and then others.
        self._takes_turns = False
        self._target: Callable[[], Any] = lambda: None  # what was differentiated last
        #: The weights that were observed, and why what is not captured is not.
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
        self._owner.detach()

    def observed(self) -> set[str]:
        """Return the names of all that was observed."""
        return self._at_hand.names | self._traced.names

    # Called by wrappers

    def returned(self, layer: Any, output: Any) -> None:
        if self._num_recording and self._is_observing():
            self._pending.append((_scope_key(), layer, output))

    def called(self, layer: Any, given: Sequence[Any], call: Any) -> None:
        if not self._num_recording or not self._is_observing():
            return
        if call.is_outermost:
            self._given.append((_scope_key(), layer, list(given)))
        from ..keras.layers import depends_on_mode, is_in_training

        if depends_on_mode(layer):
            self._modes.append((_scope_key(), is_in_training(layer, call.training)))

    def computed(self, loss: Any, given: Sequence[Any], value: Any, is_inside: bool) -> None:  # noqa: ARG002
        if self._num_recording and self._is_observing():
            from ..keras.losses import loss_call

            self._calls.append((_scope_key(), loss_call(loss, *given), value))

    def compared(
        self, function: Any, given: Sequence[Any], keywords: Mapping[str, Any], value: Any
    ) -> None:
        if self._num_recording and self._is_observing():
            from ..keras.losses import loss_call

            self._calls.append(
                (_scope_key(), loss_call(function, given[0], given[1], keywords), value)
            )

    def compared_logits(self, logits: Any, labels: Any, value: Any) -> None:
        """TensorFlow returned binary cross-entropies, one for each element."""
        # To make a tensor of labels would be an operation of the script's graph: by their number
        # what it draws is seeded.
        is_known = tf.is_tensor(labels) or tf.executing_eagerly()
        if is_known and self._num_recording and self._is_observing():
            call = LossCall(BINARY_LOGITS, logits, tf.convert_to_tensor(labels))
            self._calls.append((_scope_key(), call, value))

    def drawn(self, layer: Any, seed: Any, value: Any) -> None:
        """Something random was drawn, of which nothing is said here."""

    def penalties_read(self) -> None:
        """The script, or Keras for it, asked for penalties: they may be in any loss from now on."""
        self._reads_penalties = True

    def lost(self, given: Mapping[str, Any], loss: Any) -> None:
        """A model of Keras computed its loss, which the tape will report."""

    def begins(self) -> None:
        """A tape begins to record: what was observed before it has no gradient any more."""
        if self._is_here():
            if self._num_recording == 0:
                self._pending, self._given, self._calls, self._modes = [], [], [], []
                self._watch_operations()
            self._num_recording += 1

    def ends(self) -> None:
        if self._is_here():
            self._num_recording = max(0, self._num_recording - 1)
            if self._num_recording == 0:
                self._operations.end()

    def stops(self) -> None:
        """Nothing is observed from here on: call nobody back."""
        self._num_recording = 0
        self._operations.end()

    @timed
    @guarded
    def differentiated(self, target: Any, sources: Any, gradients: Any) -> None:
        """A tape returned the gradients of a target by its sources."""
        if not self._is_observing():
            return
        pairs = zip(_flat(sources), _flat(gradients), strict=True)
        weights = [(source, gradient) for source, gradient in pairs if _is_variable(source)]
        if not weights:
            return  # by an input, as for a penalty on gradients
        with stop_recording():
            self._differentiated_by(target, weights)

    @timed
    @guarded
    def applies(self, optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        del gradients
        if self._is_observing():
            number = _index_of(optimizer, self._optimizers)
            from ..keras.layers import is_unscaled

            if is_unscaled(optimizer):
                self._mistakes[f"setup/unscaled_loss/{optimizer.name}"] = 1.0
            names = {self.naming.of_variable(variable) for variable in variables}
            with stop_recording():
                rate = tf.convert_to_tensor(optimizer.learning_rate)
                observed_refs = TensorRef(f"learning_rate/{number}", "learning_rates", rate)
                self._report([observed_refs], partial(self._moves, names))

    @timed
    @guarded
    def calls(self) -> None:
        """A function of the script is called: decide what its graph computes for us."""
        if self._condition is not None and self._is_observing() and tf.executing_eagerly():
            self._only_losses = self._will_be_thin()
            self._condition.set(holds=not self._only_losses)

    @timed
    @guarded
    def gather(self, function: Any) -> None:
        """A function of the script has returned: take what its graph computed."""
        if self._slots and self._is_observing() and tf.executing_eagerly():
            most = self._slots.gather(function, only_losses=self._only_losses)
            if most:
                self._look_at_numbers(function)
            if most > 1:
                self.notes.add(f"the last of {most} steps that one call of a tf.function did")

    def _look_at_numbers(self, function: Any) -> None:
        """Note numbers that a function read as it was traced, and that are others now."""
        plain = function.python_function
        with suppress(Exception):  # a function of whatever kind
            if function not in self._frozen:
                self._frozen.traced(function, plain)
            step = self._owner.recorder.opened.get(Mode.TRAIN)
            if step is None or not step.wants("setup"):
                return
            frozen = {
                f"setup/frozen_number/{one}": 1.0 for one in self._frozen.changed(function, plain)
            }
            Evidence(self._at_hand.names, self._nearest).numbers(step, "setup", frozen)

    # How

    @guarded
    def _watch_operations(self) -> None:
        """A tape begins: watch what runs at once, unless nothing but losses is wanted of it."""
        is_wanted = self._owner.recorder.plan.wants("dependence")
        if self._owner.active and is_wanted and tf.executing_eagerly() and not self._will_be_thin():
            self._operations.begin()

    def _will_be_thin(self) -> bool:
        """Return whether what runs next belongs to a step of which only losses are observed."""
        recorder, mode = self._owner.recorder, self._owner.mode()
        # Whether it begins the next step or goes on with the open one is not known yet.
        is_open_thin = not recorder.is_open(mode) or self._has_only_losses()
        return is_open_thin and recorder.new_step(mode).has_only_losses

    def _has_only_losses(self) -> bool:
        return self._owner.recorder.open_step(self._owner.mode()).has_only_losses

    def _differentiated_by(self, target: Any, weights: list[tuple[Any, Any]]) -> None:
        if tf.executing_eagerly():
            names = frozenset(self.naming.of_variable(one) for one, _ in weights)
            if self._is_thin_after(names):
                self._pending, self._given, self._modes = [], [], []
                self._at_hand.observe(self._owner.mode(), self._targets(target, names))
                return
        returned = [one[1:] for one in self._pending if one[0] is _scope_key()]
        tensor_refs = self._outputs()  # first: it learns the names of what is in a model
        tensor_refs += self._left_out(target, weights, returned)
        named = [(self.naming.of_variable(one), one, gradient) for one, gradient in weights]
        names = frozenset(name for name, *_ in named)
        targets = self._targets(target, names)
        facts = _Facts(is_other=all(one is not self._target() for one in _flat(target)))
        self._target = weakref.ref(_flat(target)[0])
        tensor_refs += [*targets, *self._arguments(targets, target, facts)]
        if len(targets) == 1 and (made_by := self._made_by(_flat(target)[0])) is not None:
            with suppress(Exception):  # a graph of whatever kind
                compared = compared_in_graph(made_by, [_variable(one) for one, _ in weights])
                if compared is not None:
                    facts.compared[targets[0].name.removeprefix("loss/")] = compared
        if not self._reads_penalties:
            facts.penalties = self._penalties(named, returned)
        wants = self._owner.recorder.plan.wants
        for name, variable, gradient in named:
            if wants("weights"):
                tensor_refs.append(TensorRef(name, "weights", tf.convert_to_tensor(variable), True))
            if gradient is not None and wants("gradients"):
                tensor_refs.append(TensorRef(f"gradient/{name}", "gradients", stored(gradient)))
        self.weights |= {name: None if g is not None else "no gradient" for name, _, g in named}
        self._report(tensor_refs, partial(self._step, names), facts)

    def _penalties(
        self, named: Sequence[tuple[str, Any, Any]], returned: Sequence[tuple[Any, Any]]
    ) -> list[str]:
        """Return the weights with a regularizer, and the layers that added penalties.

        Args:
            named: The weights that are differentiated by, each with its name and gradient.
            returned: See ``_left_out``.
        """
        if not returned:  # nothing of Keras
            return []
        from ..keras.layers import has_own_penalties, is_penalized

        trained = {id(_variable(one)) for _, one, gradient in named if gradient is not None}
        added = []
        for layer, _ in returned:
            own = {id(_variable(one)) for one in layer.trainable_variables}
            if has_own_penalties(layer) and (not own or own & trained):
                added.append(layer.name)
        weights = (n for n, one, gradient in named if gradient is not None and is_penalized(one))
        return [*weights, *added]

    def _made_by(self, loss: Any) -> Any:
        """Return the operation that computed a loss; ``None`` where that was not watched."""
        if not tf.executing_eagerly():
            return loss.op
        made_by = self._operations.made(loss)
        return made_by if made_by.type else None

    def _left_out(
        self, target: Any, weights: Sequence[tuple[Any, Any]], returned: Sequence[tuple[Any, Any]]
    ) -> Iterator[TensorRef]:
        """Yield the variables before what is trained by which no gradient is taken.

        Those of layers that were frozen before have names of their own.

        Args:
            returned: The layers that returned while the tape recorded, with their outputs.
        """
        for layer, _ in returned:
            if not layer.trainable:
                self._once_frozen.update(id(_variable(one)) for one in layer.weights)
        asked = {id(_variable(one)) for one, _ in weights}
        others = {
            id(_variable(one)): one
            for layer, _ in returned
            for one in layer.trainable_variables
            if id(_variable(one)) not in asked
        }
        before: list[Any] = []
        if others and tf.executing_eagerly():
            before = self._before_trained(asked, returned)
        elif others and len(_flat(target)) == 1:
            trained = [_variable(one) for one, gradient in weights if gradient is not None]
            with suppress(Exception):  # of a graph of whatever kind: the rest goes on
                before = variables_before(
                    _flat(target)[0], trained, [*map(_variable, others.values())]
                )
        for key in dict.fromkeys(map(id, before)):
            if key in others:
                what = "thawed" if key in self._once_frozen else "left_out"
                name = f"optimizer/{what}/{self.naming.of_variable(others[key])}"
                yield TensorRef(name, "optimizer", tf.convert_to_tensor(others[key]))

    def _before_trained(self, asked: set[int], returned: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Return the variables of models whose very output a trained model is called with."""
        made_by = {id(one): layer for layer, output in returned for one in _flat(output)}
        return [
            _variable(one)
            for where, layer, given in self._given
            if where is None and any(id(_variable(each)) in asked for each in layer.weights)
            for tensor in _flat(given)
            if id(tensor) in made_by
            for one in made_by[id(tensor)].trainable_variables
        ]

    def _arguments(
        self, targets: list[TensorRef], target: Any, facts: _Facts
    ) -> Iterator[TensorRef]:
        """Yield what models and losses of Keras were given, and note the facts of both."""
        scope = _scope_key()
        given = [one for where, _, one in self._given if where is scope]
        calls = [(call, value) for where, call, value in self._calls if where is scope]
        modes = [in_training for where, in_training in self._modes if where is scope]
        facts.modules, facts.modules_in_eval = len(modes), modes.count(False)
        self._modes = [one for one in self._modes if one[0] is not scope]
        self._given = [one for one in self._given if one[0] is not scope]
        self._calls = [one for one in self._calls if one[0] is not scope]
        if not given and not calls:
            return
        from ..keras.backend import tensors_in

        for number, batch in enumerate(given[:MOST_BATCHES]):
            for path, tensor in tensors_in(batch, f"batch_{number}" if number else "batch"):
                facts.batches.append(path)
                yield TensorRef(path, "batches", tensor, is_needed=True)
        # A sum of losses, or one with a penalty, is that of its only cross-entropy.
        own = [call for call, value in calls if value is target] or [call for call, _ in calls]
        if len(own) == 1 and len(targets) == 1:
            name = targets[0].name.removeprefix("loss/")
            facts.calls[name] = replace(own[0], prediction=None, label=None)
            for what, kind, value, arranged in own[0].given:
                for path, tensor in tensors_in(value):
                    yield TensorRef(
                        f"{what}/{name}{path}",
                        kind,
                        tensor,
                        function=own[0].function,
                        arranged=arranged,
                        is_needed=True,
                    )

    def _step(self, names: frozenset[str]) -> None:
        """Weights are differentiated by: end the step that is over by that."""
        if names & (self._moved if self._optimizers else self._differentiated):
            self._owner.end_open()
            self._moved, self._differentiated = set(), set()
        self._takes_turns = bool(self._differentiated) and not names & self._differentiated
        self._differentiated |= names

    def _is_thin_after(self, names: frozenset[str]) -> bool:
        """Begin a step if weights that are differentiated by do, and if it has only losses.

        Returns:
            Whether the step that is open then has only losses.
        """
        recorder, mode = self._owner.recorder, self._owner.mode()
        is_next = bool(names & (self._moved if self._optimizers else self._differentiated))
        step = recorder.new_step(mode) if is_next else recorder.open_step(mode)
        if step.has_only_losses:
            self._step(names)
        return step.has_only_losses

    def _moves(self, names: set[str]) -> None:
        self._moved |= names

    def _report(
        self, tensor_refs: list[TensorRef], first: Note, facts: _Facts | None = None
    ) -> None:
        """Observe tensors now, or whenever the graph runs that is traced; call ``first`` before."""
        wants = self._owner.recorder.plan.wants
        tensor_refs = [
            observed_refs
            for observed_refs in tensor_refs
            if wants(observed_refs.collection) and _is_real(observed_refs.value)
        ]
        if tf.executing_eagerly():
            first()
            self._at_hand.observe(self._owner.mode(), tensor_refs)
            if facts is not None:
                self._add_evidence(
                    facts, {one.name: one for one in tensor_refs if one.is_needed}, _value_of
                )
        elif tf.distribute.get_strategy().num_replicas_in_sync > 1:
            self.notes.add("nothing inside of replicas")
        else:
            self._add_slots(tensor_refs, first, facts)

    def _add_evidence(
        self, facts: _Facts, known: Mapping[str, Any], read: Callable[[Any], Any]
    ) -> None:
        """Add what rules need of a step and of its losses beyond statistics."""
        of_facts = (facts.batches, facts.calls, facts.compared, facts.modules, facts.penalties)
        takes_turns = self._takes_turns and facts.is_other
        if not (any(of_facts) or takes_turns):
            return

        def value_of(name: str) -> Any:
            return read(known[name]) if name in known else None

        step = self._owner.recorder.open_step(self._owner.mode())
        evidence = Evidence(self._at_hand.names, self._nearest)
        evidence.losses(step, facts.calls, value_of)
        evidence.samples(step, facts.batches, value_of)
        evidence.compared(step, facts.calls, facts.batches, value_of)
        batch = value_of(facts.batches[0]) if facts.batches and facts.compared else None
        rows = len(batch) if batch is not None and batch.ndim else 2
        compared = {name: float(number or rows) for name, number in facts.compared.items()}
        evidence.targets(step, facts.calls, facts.batches, None, value_of, compared)
        unused = {f"setup/unused_penalty/{name}": 1.0 for name in facts.penalties}
        evidence.numbers(step, "setup", unused | self._mistakes)
        if step.mode is Mode.TRAIN and step.wants("policy"):
            found = end_numbers(main_script()) | (next_states() if has_discount() else {})
            evidence.numbers(step, "policy", found)
        if takes_turns and "loop/takes_turns" not in step and step.wants("loop"):
            evidence.numbers(step, "loop", {"loop/takes_turns": 1.0})
        if facts.modules and "loop/modules" not in step:
            modes = {"modules": facts.modules, "modules_in_eval": facts.modules_in_eval}
            evidence.numbers(step, "loop", {f"loop/{name}": one for name, one in modes.items()})

    def _add_slots(self, tensor_refs: list[TensorRef], first: Note, facts: _Facts | None) -> None:
        """Let the graph that is traced report tensors; by a budget most only if it is to."""
        if self.budget.share is None:
            self._add_slot(tensor_refs, first, facts=facts)
            return
        self._condition = self._condition or Condition()
        others = [one for one in tensor_refs if one.collection not in KEPT]
        self._add_slot([one for one in tensor_refs if one.collection in KEPT], first)
        self._add_slot(others, lambda: None, self._condition, facts)

    def _add_slot(
        self,
        tensor_refs: list[TensorRef],
        first: Note,
        condition: Condition | None = None,
        facts: _Facts | None = None,
    ) -> None:
        sizes = [_least_size(one.value.shape) for one in tensor_refs]
        observations = self._at_hand if sum(sizes) <= _MOST_LEAVING else self._traced
        pack = partial(observations.packed, tensor_refs)
        self._slots.add(Slot(pack, partial(self._take, observations, first, facts), condition))

    def _take(
        self,
        observations: Observations,
        first: Note,
        facts: _Facts | None,
        packed: PackedTensors,
        values: Sequence[Any],
        statistics: Sequence[Any],
    ) -> None:
        first()
        observations.note(self._owner.mode(), packed, values, statistics)
        if facts is not None:
            self._add_evidence(facts, packed.arranged_values(values, np.asarray), np.asarray)

    def _targets(self, target: Any, names: frozenset[str]) -> list[TensorRef]:
        number = _index_of(names, self._losses)
        name = f"loss/loss_{number}" if number else "loss/loss"
        flat = _flat(target)
        if len(flat) == 1:
            own = [
                call
                for where, call, value in self._calls
                if value is flat[0] or (where is _scope_key() and self._is_mean(flat[0], value))
            ]
            if own:
                self._functions[name] = own[0].computed_by
        # What is run at once is not looked at in steps with only losses.
        function = self._functions.get(name, "") if len(flat) == 1 else ""
        return [TensorRef(name, "losses", one, function=function) for one in flat]

    def _is_mean(self, loss: Any, value: Any) -> bool:
        """Return whether a loss is the mean over what a loss function returned."""
        mean, made_by = self._made_by(loss), self._made_by(value)
        if mean is None or made_by is None or mean.type != "Mean":
            return False
        return bool(mean.inputs[0].op.name == made_by.name)

    def _outputs(self) -> list[TensorRef]:
        """Return what layers of Keras returned in this scope since the last tape began."""
        scope = _scope_key()
        here = [(layer, output) for where, layer, output in self._pending if where is scope]
        self._pending = [one for one in self._pending if one[0] is not scope]
        if not here:
            return []
        from ..keras.backend import tensors_in
        from ..keras.layers import ModelNames

        names = self.naming.of_layers([layer for layer, _ in here], ModelNames)
        return [
            TensorRef(f"output/{names[id(layer)]}{path}", "outputs", tensor)
            for layer, output in here
            for path, tensor in tensors_in(output)
        ]

    def _is_observing(self) -> bool:
        return self._owner.active and self._is_here()

    def _is_here(self) -> bool:
        return threading.get_ident() == self._thread


def _scope_key() -> object:
    """Return what is the same wherever tensors of here are of use."""
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def _index_of(one: Any, known: list[Any]) -> int:
    """Return the index of something in a list, to which it is added if it is new."""
    if one not in known:
        known.append(one)
    return known.index(one)


def _value_of(tensor_ref: TensorRef) -> Any:
    value = np.asarray(tensor_ref.value)
    return value if tensor_ref.arranged is None else tensor_ref.arranged.value(value)


def _least_size(shape: Any) -> int:
    """Return how many elements a tensor has where unknown axes have one."""
    return 0 if shape.rank is None else math.prod(size or 1 for size in shape)


def _flat(structure: Any) -> list[Any]:
    return list(tf.nest.flatten(structure))


def _is_real(value: Any) -> bool:
    """Return whether a tensor has a dtype with an order."""
    dtype = value.dtype
    return bool(dtype.is_floating or dtype.is_integer or dtype.is_bool)


def _variable(source: Any) -> Any:
    """Return the variable of TensorFlow that one of Keras keeps its value in, or that it is."""
    return getattr(source, "_value", source)


def _is_variable(source: Any) -> bool:
    return isinstance(_variable(source), tf.Variable)
