"""Which of the default rules can judge trainings of JAX, as the page on parity has it."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from stepwatch.hooks.jax import JaxHook
from tests.support.frameworks import parity

pytestmark = pytest.mark.framework


class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(8, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.last = nnx.Linear(16, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(self.norm(nnx.relu(self.first(x))))


def loss_of(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()


def test_the_rules_that_can_judge_are_those_of_the_page(tmp_path):
    """Neither more nor fewer: what is captured and what the page says belong together."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(384, 8)).astype("float32")
    y = (x[:, 0] > 0).astype("int32") + (x[:, 1] > 0)
    with JaxHook(run=tmp_path / "run", say=lambda _: None, strict=True):

        @nnx.jit
        def train_step(model, optimizer, x, y):
            loss, gradients = nnx.value_and_grad(loss_of)(model, x, y)
            optimizer.update(model, gradients)
            return loss

        model = Classifier(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)
        for number in range(240):
            start = number * 32 % 384
            train_step(
                model,
                optimizer,
                jnp.asarray(x[start : start + 32]),
                jnp.asarray(y[start : start + 32]),
            )

    assert parity.promised("JAX") == parity.judged(tmp_path / "run")
