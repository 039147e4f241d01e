"""Keras on TensorFlow: steps are traced into graphs, from which values leave as outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ..patching import PatchSet
from ..tensorflow.broadcast import compared_in_graph
from ..tensorflow.graphs import Condition, TensorReader
from .backend import (
    RETURNED,
    Array,
    Backend,
    Session,
    StepFacts,
    Variables,
    made_function,
    temporary_attributes,
)


class TensorFlowBackend(TensorReader, Backend):
    """How TensorFlow runs models."""

    returns_early = True
    dtype_name = Backend.dtype_name  # of variables of Keras, too

    def scope(self) -> object:
        return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()

    def instrument(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        several = model.steps_per_execution
        if several > 1:
            session.note(f"only the last of {several} steps (steps_per_execution={several})")
            if kind == "predict":  # what its steps return is joined along the batch
                make()
                plain: Callable[..., Any] = model.predict_function
                return plain
        # One graph that is told what is to leave it: to trace another takes as long as the first.
        # Code of XLA, of which all shapes are fixed, and Python take two.
        is_one = several == 1 and not (model.run_eagerly or model.jit_compile)
        condition = Condition() if is_one and session.thins else None
        full = _instrumented(model, kind, make, session, condition)
        of_losses: Callable[..., Any] | None = None

        def variables() -> Variables:
            return model.trainable_variables, model.non_trainable_variables

        def run(given: Any) -> Any:
            nonlocal of_losses
            only_losses = session.begins(variables)
            if condition is not None:
                condition.set(holds=not only_losses)
            if not only_losses or condition is not None:
                found = full(given)
            elif of_losses is not None:
                found = of_losses(given)
            else:
                of_losses = _instrumented(model, kind, make, session, only_losses=True)
                with session.compiling():
                    found = of_losses(given)
            session.ran(found, found[RETURNED], variables, lambda: _variables_of_optimizer(model))
            return found[RETURNED]

        return run

    def to_numpy(self, value: Any) -> Array:
        value = value.value if isinstance(value, keras.Variable) else value
        value = value.read_value() if isinstance(value, tf.Variable) else value
        return np.asarray(value)

    def stored(self, value: Any) -> Any:
        # Made dense, the gradient of an embedding would be as large as its table.
        return value.values if isinstance(value, tf.IndexedSlices) else value


def _instrumented(
    model: Any,
    kind: str,
    make: Callable[[], None],
    session: Session,
    condition: Condition | None = None,
    *,
    only_losses: bool = False,
) -> Callable[..., Any]:
    """Return what a model makes to run for each batch, with what is observed in what it returns."""
    when = None if condition is None else condition.when
    name = f"{kind}_step"
    original = getattr(model, name)

    def step(data: Any) -> Any:
        num_replicas = tf.distribute.get_strategy().num_replicas_in_sync
        if num_replicas > 1:  # each in a thread of its own
            session.note(f"no gradients and outputs of {num_replicas} replicas")
            return {RETURNED: original(data)}
        with session.collecting(only_losses=only_losses) as trace:
            if only_losses or kind != "train":
                returned = original(data)
            else:
                with _following_gradients(trace.facts):
                    returned = original(data)
        return {RETURNED: returned, **session.packed(trace, when)}

    function = made_function(model, kind, make, **{name: step})

    def run(given: Any) -> Any:
        with temporary_attributes(model, **{name: step}):  # it is looked up when it is traced
            return function(given)

    return run


@contextmanager
def _following_gradients(facts: StepFacts) -> Iterator[None]:
    """Look at the graphs of the losses that a step differentiates, as it is traced."""
    patches = PatchSet()

    def following(original: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **named: Any) -> Any:
            with suppress(Exception):  # a graph of whatever kind; a step that runs as Python
                _look_at_graph(facts, target, sources)
            return original(tape, target, sources, *args, **named)

        return gradient

    patches.put(tf.GradientTape, "gradient", following)
    try:
        yield
    finally:
        patches.remove()


def _look_at_graph(facts: StepFacts, target: Any, sources: Any) -> None:
    held = (getattr(one, "_value", one) for one in tf.nest.flatten(sources))
    trained = [one for one in held if isinstance(one, tf.Variable)]
    for loss in tf.nest.flatten(target) if trained and not tf.executing_eagerly() else ():
        compared = compared_in_graph(loss.op, trained)
        if compared is not None and facts.compared in (None, 1.0):
            facts.compared = float(compared)


def _variables_of_optimizer(model: Any) -> Sequence[Any]:
    optimizer = getattr(model, "optimizer", None)
    return [] if optimizer is None else list(optimizer.variables)


BACKEND = TensorFlowBackend
