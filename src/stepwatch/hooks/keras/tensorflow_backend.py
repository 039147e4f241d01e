"""Keras on TensorFlow: steps are traced into graphs, from which values leave as outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ..tensorflow.graphs import TensorReader, is_on_host
from .backend import (
    RETURNED,
    SIDE_OUTPUT,
    Array,
    Backend,
    Session,
    temporary_attributes,
)


class TensorFlowBackend(TensorReader, Backend):
    """How TensorFlow runs models."""

    dtype_name = Backend.dtype_name  # of variables of Keras, too

    def __init__(self) -> None:
        super().__init__(on_host=is_on_host())

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
        name = f"{kind}_step"
        original = getattr(model, name)

        def step(data: Any) -> Any:
            num_replicas = tf.distribute.get_strategy().num_replicas_in_sync
            if num_replicas > 1:  # each in a thread of its own
                session.note(f"no gradients and outputs of {num_replicas} replicas")
                return {RETURNED: original(data), SIDE_OUTPUT: {}}
            with session.collecting() as trace:
                returned = original(data)
            return {RETURNED: returned, SIDE_OUTPUT: session.packed(trace)}

        with temporary_attributes(model, **{name: step}):
            make()
        function = getattr(model, f"{kind}_function")

        def run(given: Any) -> Any:
            session.begins(model.trainable_variables, model.non_trainable_variables)
            with temporary_attributes(model, **{name: step}):  # it is looked up when it is traced
                found = function(given)
            optimizer = getattr(model, "optimizer", None)
            kept = [] if optimizer is None else optimizer.variables
            session.ran(found[SIDE_OUTPUT], found[RETURNED], kept)
            return found[RETURNED]

        return run

    def to_numpy(self, value: Any) -> Array:
        value = value.value if isinstance(value, keras.Variable) else value
        value = value.read_value() if isinstance(value, tf.Variable) else value
        return np.asarray(value)

    def stored(self, value: Any) -> Any:
        # Made dense, the gradient of an embedding would be as large as its table.
        return value.values if isinstance(value, tf.IndexedSlices) else value


BACKEND = TensorFlowBackend
