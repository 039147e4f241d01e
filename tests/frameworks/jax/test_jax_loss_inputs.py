"""What losses of optax compare, and the batches of a function that is differentiated."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from stepwatch.hooks.jax import JaxHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
RNG = np.random.default_rng(0)
X = RNG.normal(size=(4096, 8)).astype("float32")
CLASSES = (X[:, 0] > 0).astype("int32") + (X[:, 1] > 0)


def logits_of(params, x):
    return jax.nn.relu(x @ params["w1"]) @ params["w2"]


def cross_entropy(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits_of(params, x), y).mean()


def with_penalty(params, x, y):
    penalty = sum(optax.l2_loss(one).sum() for one in params.values())
    return cross_entropy(params, x, y) + 0.1 * penalty


def of_probabilities(params, x, y):
    probabilities = jax.nn.softmax(logits_of(params, x))
    return optax.softmax_cross_entropy_with_integer_labels(probabilities, y).mean()


def divergence(params, x, y):
    logarithms = jax.nn.log_softmax(logits_of(params, x))
    return optax.kl_divergence(logarithms, jax.nn.one_hot(y, 3)).mean()


def divergence_of_probabilities(params, x, y):
    probabilities = jax.nn.softmax(logits_of(params, x))
    return optax.kl_divergence(probabilities, jax.nn.one_hot(y, 3)).mean()


def of_batch(params, batch):
    return cross_entropy(params, batch["image"], batch["label"])


def two_losses(params, x, y):
    return cross_entropy(params, x, y) + cross_entropy(params, x, y)


def per_sample(params, x, y):
    return jax.vmap(cross_entropy, in_axes=(None, 0, 0))(params, x, y).mean()


def per_sequence(params, x, y):
    """Of each sample classes at each of two times."""

    def one(x, y):
        logits, labels = jnp.stack([logits_of(params, x)] * 2), jnp.stack([y, y])
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    return jax.vmap(one)(x, y).mean()


def over_time(params, x, y):
    """Four classes at each of two times, on the last axis."""
    logits = logits_of(params, x)[:, None, :] * jnp.ones((1, 2, 1))
    labels = jnp.stack([y, y], 1)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def rows_of(step):
    return slice(step * 32 % len(X), step * 32 % len(X) + 32)


def train(run, loss, *, x=X, y=CLASSES, steps=20, of_dict=False, classes=3):
    rng = np.random.default_rng(1)
    params = {
        "w1": jnp.asarray(rng.normal(size=(8, 16)).astype("float32") * 0.3),
        "w2": jnp.asarray(rng.normal(size=(16, classes)).astype("float32") * 0.3),
    }
    optimizer = optax.adam(0.01)
    with JaxHook(run=run, say=lambda _: None, strict=True):

        @jax.jit
        def step(params, state, *batch):
            value, gradients = jax.value_and_grad(loss)(params, *batch)
            updates, state = optimizer.update(gradients, state)
            return optax.apply_updates(params, updates), state, value

        state, losses = optimizer.init(params), []
        for number in range(steps):
            rows = rows_of(number)
            batch = ({"image": x[rows], "label": y[rows]},) if of_dict else (x[rows], y[rows])
            params, state, value = step(params, state, *batch)
            losses.append(float(value))
    return losses, Trial(run)


@pytest.mark.parametrize("loss", [cross_entropy, with_penalty])
def test_predictions_labels_and_the_batch_are_captured(loss, tmp_path):
    _, trial = train(tmp_path / "run", loss)

    name = loss.__name__
    for tensor, count in ((f"prediction/{name}", 32 * 3), (f"label/{name}", 32), ("batch", 32 * 8)):
        assert count == trial.tensor(tensor).statistics()["count"][0]
    np.testing.assert_array_equal(
        np.bincount(CLASSES[rows_of(0)], minlength=3), trial.tensor(f"class_count/{name}").value(0)
    )
    assert 32 == len(trial.tensor("sample").value(0))


def test_the_loss_has_a_function_only_where_it_is_the_mean_of_what_that_returns(tmp_path):
    for loss, is_mean in ((cross_entropy, True), (with_penalty, False)):
        _, trial = train(tmp_path / loss.__name__, loss)
        function = trial.tensor(f"loss/{loss.__name__}").function
        assert (function == "cross_entropy") is is_mean


def test_arrays_of_a_dict_are_a_batch_but_for_the_labels(tmp_path):
    _, trial = train(tmp_path / "run", of_batch, of_dict=True)

    assert ["batch"] == trial.tensor_names(collection="batches")


def test_classes_on_the_last_axis_are_brought_to_the_second(tmp_path):
    _, trial = train(tmp_path / "run", over_time)

    both = 2 * np.bincount(CLASSES[rows_of(0)], minlength=3)
    np.testing.assert_array_equal(both, trial.tensor("class_count/over_time").value(0))


def test_a_loss_that_is_mapped_over_samples_is_that_of_the_batch(tmp_path):
    _, trial = train(tmp_path / "run", per_sample)

    counts = trial.tensor("class_count/per_sample").value(0)
    np.testing.assert_array_equal(np.bincount(CLASSES[rows_of(0)], minlength=3), counts)
    assert 32 * 3 == trial.tensor("prediction/per_sample").statistics()["count"][0]


@pytest.mark.parametrize("loss", [two_losses, per_sequence])
def test_where_it_is_not_known_what_counts_nothing_is_said(loss, tmp_path):
    _, trial = train(tmp_path / "run", loss)

    assert not trial.tensor_names(collection="predictions")


def test_the_training_is_the_one_it_would_have_been(tmp_path):
    observed, _ = train(tmp_path / "run", cross_entropy)
    alone = JaxHook(run=tmp_path / "other", say=lambda _: None)
    alone.detach()

    rng = np.random.default_rng(1)
    params = {
        "w1": jnp.asarray(rng.normal(size=(8, 16)).astype("float32") * 0.3),
        "w2": jnp.asarray(rng.normal(size=(16, 3)).astype("float32") * 0.3),
    }
    optimizer = optax.adam(0.01)
    state, losses = optimizer.init(params), []

    @jax.jit
    def step(params, state, x, y):
        value, gradients = jax.value_and_grad(cross_entropy)(params, x, y)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    for number in range(20):
        rows = rows_of(number)
        params, state, value = step(params, state, X[rows], CLASSES[rows])
        losses.append(float(value))
    assert losses == observed


def found_in(trial, rule):
    return {one.condition.split()[0] for one in watch(trial, [rule])}


def test_probabilities_in_the_place_of_logits_are_found(tmp_path):
    _, trial = train(tmp_path / "wrong", of_probabilities)
    assert found_in(trial, "loss_input")

    _, trial = train(tmp_path / "right", cross_entropy)
    assert not found_in(trial, "loss_input")


def test_probabilities_in_the_place_of_their_logarithms_are_found(tmp_path):
    _, trial = train(tmp_path / "wrong", divergence_of_probabilities)
    assert {"not_log_probabilities"} == found_in(trial, "loss_input")

    _, trial = train(tmp_path / "right", divergence)
    assert not found_in(trial, "loss_input")


def test_labels_that_belong_to_other_samples_are_found(tmp_path):
    shuffled = RNG.permutation(CLASSES)
    _, trial = train(tmp_path / "wrong", cross_entropy, y=shuffled, steps=240)
    assert found_in(trial, "chance_level")

    _, trial = train(tmp_path / "right", cross_entropy, steps=240)
    assert not found_in(trial, "chance_level")


@pytest.mark.parametrize(("masks", "found"), [(False, {"pads_targets"}), (True, set())])
def test_padding_that_counts_in_the_loss_is_found(masks, found, tmp_path):
    """Tags of short texts, which are padded with 0, as their tags are."""
    tokens = RNG.integers(1, 8, (4096, 12))
    tokens[np.arange(12) >= RNG.integers(2, 6, (4096, 1))] = 0

    def tagged(params, x, y):
        logits = params["w1"][x] @ params["w2"]
        each = optax.softmax_cross_entropy_with_integer_labels(logits, y)
        return (each * (x > 0)).sum() / (x > 0).sum() if masks else each.mean()

    y = np.where(tokens > 0, tokens % 2 + 1, 0)
    _, trial = train(tmp_path / "run", tagged, x=tokens, y=y)

    assert found == found_in(trial, "setup")


def test_inputs_that_are_far_too_large_are_found(tmp_path):
    _, trial = train(tmp_path / "wrong", cross_entropy, x=100 * X)
    assert found_in(trial, "input_scale")

    _, trial = train(tmp_path / "right", cross_entropy)
    assert not found_in(trial, "input_scale")
