"""Losses that scripts write out in JAX, of predictions with an axis more than their targets."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stepwatch.hooks.jax import JaxHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework


def written(prediction, y):
    return jnp.mean((prediction - y) ** 2)


def turned(prediction, y):
    return 0.5 * jnp.mean(jnp.square(y - prediction)) + 0.1


def absolute(prediction, y):
    return jnp.sum(jnp.abs(prediction - y)) / len(y)


def squeezed(prediction, y):
    return jnp.mean((prediction[:, 0] - y) ** 2)


def columns(prediction, y):
    return jnp.mean((prediction - y[:, None]) ** 2)


def ranked(prediction, y):
    """Pairs are meant: predictions of what is larger ought to be larger."""
    pairs = prediction - prediction.T
    return jnp.mean(jax.nn.softplus(-pairs * jnp.sign(y[:, None] - y[None])))


def energy(prediction, y):
    """All pairs of both are meant, of arrays with one axis."""
    flat = prediction[:, 0]
    return jnp.mean(jnp.abs(flat[:, None] - y[None]))


def binned(prediction, y):
    """How near each prediction is to some centers."""
    near = jnp.exp(-((prediction - jnp.linspace(-1.0, 1.0, 5)) ** 2))
    return jnp.mean(near) + squeezed(prediction, y)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (written, ["broadcast"]),
        (turned, ["broadcast"]),
        (absolute, ["broadcast"]),
        (squeezed, []),
        (columns, []),
        (ranked, []),
        (energy, []),
        (binned, []),
    ],
)
def test_a_loss_that_compares_each_prediction_with_all_is_named(loss, expected, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 4)).astype("float32")
    y = x.sum(1)
    with JaxHook(run=tmp_path / "run", say=lambda _: None, strict=True):

        def loss_of(w, x, y):
            return loss(x @ w, y)

        @jax.jit
        def step(w, x, y):
            value, gradient = jax.value_and_grad(loss_of)(w, x, y)
            return w - 0.01 * gradient, value

        w = jnp.ones((4, 1))
        for number in range(24):
            at = slice(number % 4 * 16, number % 4 * 16 + 16)
            w, _ = step(w, x[at], y[at])
    found = list(watch(Trial(tmp_path / "run"), ["loss_input"]))

    assert expected == [one.condition for one in found]
    assert [16.0] * len(found) == [one.value for one in found]


def test_a_function_is_traced_no_more_often_for_it(tmp_path):
    """Of one that raises, the script gets the error."""
    traced = []

    def loss_of(w, x, y):
        traced.append(1)
        return written(x @ w, y)

    x, counts = np.ones((16, 4), np.float32), []
    for save in ([], ["dependence:none"]):
        traced.clear()
        with JaxHook(run=tmp_path / str(len(counts)), say=lambda _: None, policy=save, strict=True):
            step = jax.jit(jax.value_and_grad(loss_of))
            for _ in range(8):
                step(jnp.ones((4, 1)), x, x.sum(1))
            if not save:
                with pytest.raises(TypeError):
                    step(jnp.ones((9, 1)), x, x.sum(1))
                traced.pop()
        counts.append(len(traced))

    assert counts[0] - counts[1] <= 1  # of what is saved at some steps only there is another graph
