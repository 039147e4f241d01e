"""Functions that ``jax.vmap`` maps: ensembles, seeds, and gradients of single samples."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stepwatch.hooks.jax import JaxHook, packed_stats
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
MEMBERS, ROWS, STEPS = 3, 8, 5


@pytest.fixture
def hook(tmp_path):
    """A hook that raises its own failures."""
    with JaxHook(tmp_path / "run", say=lambda _: None, strict=True) as made:
        yield made


@pytest.fixture(params=["on the host", "on an accelerator"])
def place(request, monkeypatch):
    """Whether values leave a graph, or statistics that it computes."""
    if request.param == "on an accelerator":
        monkeypatch.setattr(packed_stats, "is_on_host", lambda: False)


def seen_in(hook):
    """Return what was recorded, once the hook is closed."""
    hook.close()
    return Trial(hook.recorder.store.url)


def data():
    x = jax.random.normal(jax.random.key(0), (ROWS, 4))
    return x, x @ jnp.arange(4.0)


def mse(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


def updated(w, x, y):
    loss, gradient = jax.value_and_grad(mse)(w, x, y)
    return w - 0.1 * gradient, loss


def members():
    return jax.random.normal(jax.random.key(1), (MEMBERS, 4))


def losses_of(trial, name="loss/mse"):
    return [trial.tensor(name).value(step, mode=Mode.TRAIN).item() for step in range(STEPS)]


def statistic(trial, name, step, what):
    return trial.tensor(name).statistics()[what][step]


@pytest.mark.parametrize("outer", [True, False])
def test_an_ensemble_is_one_training_with_the_mean_of_its_losses(hook, place, outer):
    """Weights and gradients have one axis more, in a jitted function and outside of one."""
    step = jax.vmap(updated, in_axes=(0, None, None))
    step = jax.jit(step) if outer else step
    w, expected = members(), []
    for _ in range(STEPS):
        w, losses = step(w, *data())
        expected.append(float(losses.mean()))

    trial = seen_in(hook)
    assert list(range(STEPS)) == trial.steps(Mode.TRAIN)
    np.testing.assert_allclose(losses_of(trial), expected, rtol=1e-6)
    assert ["w"] == trial.tensor_names(collection="weights")
    for name in ("w", "gradient/w"):
        assert statistic(trial, name, 2, "count") == MEMBERS * 4
    least = statistic(trial, "w", 0, "min")
    assert least == pytest.approx(float(members().min()))


def test_gradients_of_single_samples_leave_the_weights_as_they_are(hook, place):
    """The loss is that of the batch, and weights are not there once for each sample."""

    @jax.jit
    def step(w, x, y):
        per_sample = jax.vmap(jax.value_and_grad(mse), in_axes=(None, 0, 0))
        losses, gradients = per_sample(w, x, y)
        return w - 0.1 * gradients.mean(0), losses.mean()

    w, expected = jnp.ones(4), []
    for _ in range(STEPS):
        w, loss = step(w, *data())
        expected.append(float(loss))

    trial = seen_in(hook)
    np.testing.assert_allclose(losses_of(trial), expected, rtol=1e-6)
    assert statistic(trial, "w", 0, "count") == 4
    assert statistic(trial, "gradient/w", 0, "count") == ROWS * 4


def test_each_turn_of_a_loop_that_is_mapped_is_a_step(hook, place):
    """As where one function trains with several seeds at once."""

    def train(key):
        def turn(w, _):
            return updated(w, *data())

        return jax.lax.scan(turn, jax.random.normal(key, (4,)), length=STEPS)

    _, losses = jax.jit(jax.vmap(train))(jax.random.split(jax.random.key(2), MEMBERS))

    trial = seen_in(hook)
    assert list(range(STEPS)) == trial.steps(Mode.TRAIN)
    np.testing.assert_allclose(losses_of(trial), losses.mean(0), rtol=1e-5)
    assert statistic(trial, "w", 1, "count") == MEMBERS * 4


def test_a_member_whose_loss_is_nan_shows(hook, place):
    """The mean is nan, in a loop as well."""

    def train(w):
        return jax.lax.scan(lambda w, _: updated(w, *data()), w, length=STEPS)

    jax.jit(jax.vmap(train))(members().at[1].set(jnp.nan))

    trial = seen_in(hook)
    assert statistic(trial, "loss/mse", 0, "nan") == 1
    assert statistic(trial, "w", 0, "nan") == 4


def test_what_is_mapped_gives_what_it_gave(hook):
    """With axes of its own, names of axes, aux and errors; no tracer leaks."""

    def loss(w, x):
        return jnp.sum(w * x) + jax.lax.psum(1.0, "i"), x

    with jax.checking_leaks():
        mapped = jax.vmap(
            jax.value_and_grad(loss, has_aux=True), in_axes=(None, 1), out_axes=0, axis_name="i"
        )
        (losses, aux), gradients = mapped(jnp.ones(2), jnp.arange(6.0).reshape(2, 3))
        twice = jax.jit(jax.vmap(jax.vmap(jax.grad(lambda w: jnp.sum(w**2)))))
        np.testing.assert_allclose(twice(jnp.ones((2, 3, 4))), 2)
    np.testing.assert_allclose(losses, [6, 8, 10])
    assert (aux.shape, gradients.shape) == ((3, 2), (3, 2))
    with pytest.raises(ValueError, match="vmap"):
        jax.vmap(lambda x, y: x + y)(jnp.ones(2), jnp.ones(3))


def test_parameters_that_would_be_copied_for_each_sample_are_not_observed(hook):
    """A compiled function that is mapped returns them once for each; memory is not ours."""
    gradient = jax.jit(jax.grad(lambda w, x: jnp.sum(w) * x))

    found = jax.vmap(gradient, in_axes=(None, 0))(jnp.ones(2**16), jnp.ones(2**7))

    assert found.shape == (2**7, 2**16)
    assert not seen_in(hook).tensor_names()
