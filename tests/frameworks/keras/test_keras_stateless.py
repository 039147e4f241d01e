"""Layers and losses of Keras in a training step that a script writes out in JAX."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "jax", reason="a loop of JAX"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(512, 8)).astype("float32")
CLASSES = (X[:, 0] > 0).astype("int32")


def test_layers_of_keras_are_observed_in_a_stateless_call(tmp_path):
    """As guides of Keras have it; they forget ``training=True``, which is found."""
    import jax

    from stepwatch.hooks.jax import JaxHook

    for training, found in ((True, []), (None, ["eval_mode_in_training"])):
        model = keras.Sequential(
            [
                keras.layers.Dense(16, activation="relu", name="first"),
                keras.layers.BatchNormalization(name="norm"),
                keras.layers.Dense(2, name="last"),
            ]
        )
        model.build((None, 8))
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
        state = [
            [variable.value for variable in variables]
            for variables in (
                model.trainable_variables,
                model.non_trainable_variables,
                optimizer.variables,
            )
        ]
        with JaxHook(run=tmp_path / str(training), say=lambda _: None, strict=True):

            def loss_fn(trained, others, x, y, model=model, loss_of=loss_of, training=training):
                prediction, others = model.stateless_call(trained, others, x, training=training)
                return loss_of(y, prediction), others

            @jax.jit
            def step(state, x, y, loss_fn=loss_fn, optimizer=optimizer):
                trained, others, slots = state
                grad = jax.value_and_grad(loss_fn, has_aux=True)
                (_, others), gradients = grad(trained, others, x, y)
                trained, slots = optimizer.stateless_apply(slots, gradients, trained)
                return trained, others, slots

            for number in range(24):
                rows = slice(number * 32 % 512, number * 32 % 512 + 32)
                state = step(state, X[rows], CLASSES[rows])
        trial = Trial(tmp_path / str(training))
        names = set(trial.tensor_names())
        assert {"first/kernel", "gradient/norm/gamma"} <= names
        assert {"output/first", "output/norm", "output/last", "batch"} <= names
        assert {"prediction/loss_fn", "label/loss_fn", "confusion/loss_fn"} <= names
        assert found == [one.condition for one in watch(trial, ["training_mode"])]
