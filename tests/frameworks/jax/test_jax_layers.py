"""Layers of Linen and NNX in a function that is differentiated."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx

from stepwatch.hooks.jax import JaxHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
RNG = np.random.default_rng(0)
X = RNG.normal(size=(512, 8)).astype("float32")
CLASSES = (X[:, 0] > 0).astype("int32")


class OfLinen(linen.Module):
    @linen.compact
    def __call__(self, x, train):
        x = linen.Dense(16, name="first")(x)
        x = linen.BatchNorm(use_running_average=not train)(x)
        x = linen.Dropout(0.2, deterministic=not train)(linen.relu(x))
        return linen.Dense(2)(x)


class OfNnx(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(8, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.last = nnx.Linear(16, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.relu(self.norm(self.first(x))))


def batches(steps):
    for number in range(steps):
        rows = slice(number * 32 % 512, number * 32 % 512 + 32)
        yield X[rows], CLASSES[rows]


def train_linen(run, *, in_training=True, steps=24):
    """The batch is no argument of what is differentiated."""
    model = OfLinen()
    variables = model.init(jax.random.key(0), X[:2], train=False)
    params, statistics = variables["params"], variables["batch_stats"]
    optimizer = optax.adam(0.01)
    with JaxHook(run=run, say=lambda _: None, strict=True):

        @jax.jit
        def step(params, state, statistics, key, x, y):
            def loss_fn(params):
                logits, changed = model.apply(
                    {"params": params, "batch_stats": statistics},
                    x,
                    train=in_training,
                    mutable=["batch_stats"],
                    rngs={"dropout": key},
                )
                loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
                return loss, changed["batch_stats"]

            grad = jax.value_and_grad(loss_fn, has_aux=True)
            (_, statistics), gradients = grad(params)
            updates, state = optimizer.update(gradients, state)
            return optax.apply_updates(params, updates), state, statistics

        @jax.jit
        def evaluate(params, statistics, x):
            return model.apply({"params": params, "batch_stats": statistics}, x, train=False)

        state = optimizer.init(params)
        for number, (x, y) in enumerate(batches(steps)):
            key = jax.random.key(number)
            params, state, statistics = step(params, state, statistics, key, x, y)
            evaluate(params, statistics, x)
    return Trial(run)


def train_nnx(run, *, in_training=True, steps=24):
    with JaxHook(run=run, say=lambda _: None, strict=True):

        @nnx.jit
        def step(model, optimizer, x, y):
            def loss_fn(model):
                return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

            loss, gradients = nnx.value_and_grad(loss_fn)(model)
            optimizer.update(model, gradients)
            return loss

        model = OfNnx(nnx.Rngs(0))
        if not in_training:
            model.eval()
        optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)
        for x, y in batches(steps):
            step(model, optimizer, jnp.asarray(x), jnp.asarray(y))
    return Trial(run)


def test_modules_of_linen_are_observed_where_something_is_differentiated(tmp_path):
    trial = train_linen(tmp_path / "run")

    assert {
        "output/OfLinen",
        "output/first",
        "output/BatchNorm_0",
        "output/Dropout_0",
        "output/Dense_0",
    } == set(trial.tensor_names(collection="outputs"))
    assert 24 == len(trial.steps())  # an evaluation is none
    assert 32 * 8 == trial.tensor("batch").statistics()["count"][0]


@pytest.mark.parametrize("train", [train_linen, train_nnx])
def test_a_model_that_is_trained_as_in_evaluation_is_found(train, tmp_path):
    trial = train(tmp_path / "wrong", in_training=False)
    assert "eval_mode_in_training" in {one.condition for one in watch(trial, ["training_mode"])}

    trial = train(tmp_path / "right")
    assert [] == list(watch(trial, ["training_mode"]))
