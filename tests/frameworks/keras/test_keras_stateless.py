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


@pytest.mark.parametrize(("is_returned", "found"), [(False, ["unfilled_statistics"]), (True, [])])
def test_statistics_that_a_step_does_not_return_are_named(is_returned, found, tmp_path):
    """Batch normalization is evaluated by those of a new layer, mean 0 and variance 1."""
    import jax

    from stepwatch.hooks.jax import JaxHook

    keras.utils.set_random_seed(0)
    norm = keras.layers.BatchNormalization()
    model = keras.Sequential([keras.Input((8,)), norm, keras.layers.Dense(2)])
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with JaxHook(run=tmp_path / "run", say=lambda _: None, strict=True):

        def loss_fn(trained, others, x, y):
            logits, others = model.stateless_call(trained, others, x, training=True)
            return loss_of(y, logits), others

        @jax.jit
        def step(trained, others, x, y):
            (_, after), slopes = jax.value_and_grad(loss_fn, has_aux=True)(trained, others, x, y)
            trained = [one - 0.1 * slope for one, slope in zip(trained, slopes, strict=True)]
            return trained, after if is_returned else others

        @jax.jit
        def predict(trained, others, x):
            return model.stateless_call(trained, others, x, training=False)[0].argmax(-1)

        trained = [one.value for one in model.trainable_variables]
        others = [one.value for one in model.non_trainable_variables]
        for _ in range(2):
            for start in range(0, 512, 32):
                rows = slice(start, start + 32)
                trained, others = step(trained, others, 3 + X[rows], CLASSES[rows])
            predict(trained, others, 3 + X)

    conditions = [one.condition for one in watch(Trial(tmp_path / "run"), ["training_mode"])]
    assert found == conditions


@pytest.mark.parametrize(("is_passed_on", "found"), [(False, ["same_state step"]), (True, [])])
@pytest.mark.parametrize("rate", [0.01, keras.optimizers.schedules.CosineDecay(0.01, 100)])
def test_variables_of_an_optimizer_that_are_dropped_are_named(rate, is_passed_on, found, tmp_path):
    """Its moments and its schedule begin anew at each step."""
    import jax

    from stepwatch.hooks.jax import JaxHook

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build(model.trainable_variables)
    with JaxHook(run=tmp_path / "run", say=lambda _: None, strict=True):

        def loss_fn(trained, x, y):
            return loss_of(y, model.stateless_call(trained, [], x)[0])

        @jax.jit
        def step(trained, slots, x, y):
            slopes = jax.grad(loss_fn)(trained, x, y)
            return optimizer.stateless_apply(slots, slopes, trained)

        trained = [one.value for one in model.trainable_variables]
        slots = [one.value for one in optimizer.variables]
        for number in range(24):
            rows = slice(number * 32 % 512, number * 32 % 512 + 32)
            trained, after = step(trained, slots, X[rows], CLASSES[rows])
            slots = after if is_passed_on else slots

    assert found == [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]


@pytest.mark.parametrize(
    ("way", "found"), [("kept apart", ["stale_variables"]), ("written back", []), ("before", [])]
)
def test_a_model_that_is_evaluated_without_what_was_trained_is_named(way, found, tmp_path):
    """Its own variables are still those of before the training."""
    import jax

    from stepwatch.hooks.jax import JaxHook
    from stepwatch.hooks.keras import KerasHook

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    how = {"say": lambda _: None, "strict": True}
    with JaxHook(run=tmp_path / "run", **how) as hook, KerasHook(run=hook.recorder, **how):

        def loss_fn(trained, x):
            return keras.ops.mean(model.stateless_call(trained, [], x)[0] ** 2)

        @jax.jit
        def step(trained, x):
            slopes = jax.grad(loss_fn)(trained, x)
            return [one - 0.1 * slope for one, slope in zip(trained, slopes, strict=True)]

        if way == "before":
            model.predict(X, verbose=0)
        trained = [one.value for one in model.trainable_variables]
        for number in range(12):
            trained = step(trained, X[number * 32 : number * 32 + 32])
        if way == "written back":
            for variable, value in zip(model.trainable_variables, trained, strict=True):
                variable.assign(value)
        if way != "before":
            model.predict(X, verbose=0)

    assert found == [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
