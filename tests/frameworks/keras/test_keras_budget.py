"""A budget for Keras: most batches are observed by their losses and metrics only."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

from stepwatch.capture import budget
from stepwatch.capture.budget import FULL_STEPS
from stepwatch.hooks.keras import KerasHook
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
X = np.random.default_rng(0).normal(size=(48, 4)).astype("float32")
Y = X.sum(1, keepdims=True)


@pytest.fixture
def every_fifth(monkeypatch, tmp_path):
    """Return a function that trains under a hook which observes every fifth batch in full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 2)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "_MEASURED", 10**9)  # the period stays as it is

    def watched(train, **options):
        run = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        with KerasHook(run=run, say=str, strict=True, budget=0.03, **options) as hook:
            hook.recorder.budget.period = 5
            returned = train(hook)
        return returned, Trial(run)

    return watched


def model(**compiled):
    """Return a small model that is the same whenever it is made."""
    keras.backend.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    hidden = layers.Dense(3, activation="relu", name="hidden")
    made = keras.Sequential([keras.Input((4,)), hidden, layers.Dropout(0.5), layers.Dense(1)])
    made.compile(**{"optimizer": "adam", "loss": "mse", "metrics": ["mae"], **compiled})
    return made


class EachBatch(keras.callbacks.Callback):
    """Keeps what Keras reports of each batch; calls something after it."""

    def __init__(self, then=lambda batch: None):
        super().__init__()
        self.logs, self.then = [], then

    def on_train_batch_end(self, batch, logs=None):
        self.logs.append(logs)
        self.then(batch)


class Total(keras.metrics.Metric):
    """Returns the state that it keeps, and no number computed of it."""

    def __init__(self):
        super().__init__(name="total")
        self.total = self.add_variable((), "zeros", name="total")

    def update_state(self, y_true, y_pred, sample_weight=None):
        del y_pred, sample_weight
        self.total.assign_add(keras.ops.sum(y_true))

    def result(self):
        return keras.ops.convert_to_tensor(self.total)


def fit(made, *, then=lambda batch: None, **options):
    """Train for 12 batches; return what Keras reported of each."""
    each = EachBatch(then)
    made.fit(X, Y, batch_size=4, verbose=0, shuffle=False, callbacks=[each], **options)
    return each.logs


def series(trial, name, mode="TRAIN"):
    return [trial.tensor(name).value(step, mode=mode) for step in steps_of(trial, name, mode)]


def steps_of(trial, name, mode="TRAIN"):
    return list(trial.tensor(name).steps(mode))


class TestThinBatches:
    def test_losses_and_metrics_are_those_of_every_batch_and_all_else_of_full_ones(
        self, every_fifth
    ):
        logs, trial = every_fifth(lambda _: fit(model()))

        assert 12 == len(steps_of(trial, "loss/loss"))
        assert [one["mae"] for one in logs] == series(trial, "metric/mae")
        full = steps_of(trial, "loss/loss")[:2] + steps_of(trial, "loss/loss")[5::5]
        for name in ("hidden/kernel", "gradient/hidden/kernel", "output/hidden"):
            assert full == steps_of(trial, name), name

    def test_an_evaluation_apart_from_a_fit_is_observed(self, every_fifth):
        """As of the test set once a training is over, which may be prepared in another way."""

        def train(_):
            made = model()
            made.fit(X, Y, batch_size=4, verbose=0, validation_data=(X, Y))
            for away in (7, 9):
                made.evaluate(X[:8] + away, Y[:8], batch_size=8, verbose=0)

        _, trial = every_fifth(train)

        means = trial.tensor("batch/0").statistics("EVAL")["mean"][-2:]
        np.testing.assert_allclose(means, [X[:8].mean() + 7, X[:8].mean() + 9], rtol=1e-5)

    def test_learning_rates_are_those_of_every_batch(self, every_fifth):
        """As of a schedule that is over before the second batch that is observed in full."""
        decay = keras.optimizers.schedules.CosineDecay(0.01, decay_steps=4)
        _, trial = every_fifth(lambda _: fit(model(optimizer=keras.optimizers.Adam(decay))))

        expected = [float(decay(step)) for step in range(12)]
        np.testing.assert_allclose(expected, series(trial, "learning_rate/0"), atol=1e-9)

    def test_the_training_is_the_one_it_would_have_been(self, every_fifth):
        """What Keras reports and the weights are the same bit for bit, dropout included."""
        plain, observed = model(), model()
        keras.utils.set_random_seed(1)
        logs = fit(plain)
        keras.utils.set_random_seed(1)

        assert logs == every_fifth(lambda _: fit(observed))[0]
        for one, other in zip(plain.get_weights(), observed.get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_losses_are_those_of_full_batches(self, every_fifth, tmp_path):
        """A loss has the same value whether the batch is observed in full or not."""
        with KerasHook(run=tmp_path / "full", say=str, strict=True):
            fit(model())

        thin = every_fifth(lambda _: fit(model()))[1]
        assert series(Trial(tmp_path / "full"), "loss/loss") == series(thin, "loss/loss")

    @pytest.mark.skipif(keras.backend.backend() == "torch", reason="nothing is traced")
    def test_a_graph_is_traced_once_for_both(self, every_fifth):
        """To trace a model takes longer than many of its steps."""
        traced = []

        class Traced(layers.Layer):
            def call(self, inputs):
                traced.append(len(traced))
                return inputs

        def made():
            traced.clear()
            found = keras.Sequential([keras.Input((4,)), layers.Dense(1), Traced()])
            found.compile("sgd", "mse")
            return found

        fit(made())
        plain = len(traced)
        every_fifth(lambda _: fit(made()))

        assert plain == len(traced)

    @pytest.mark.skipif(keras.backend.backend() != "jax", reason="others have one graph, or none")
    def test_another_graph_is_compiled_once_it_pays(self, every_fifth, monkeypatch):
        """When what nobody reads has taken as long as that."""
        from stepwatch.hooks.jax import packed_stats
        from stepwatch.hooks.keras import jax_backend

        compiled = []
        run = jax_backend.CompiledStep._run
        monkeypatch.setattr(
            jax_backend.CompiledStep,
            "_run",
            lambda step, *given: (compiled.append(step), run(step, *given))[1],
        )
        logs, trial = every_fifth(lambda _: fit(model()))
        assert 1 == len({*map(id, compiled)})

        compiled.clear()
        monkeypatch.setattr(packed_stats, "_OUTPUT_S", 1e9)
        again, trial = every_fifth(lambda _: fit(model()))
        assert (2, logs) == (len({*map(id, compiled)}), again)
        assert 12 == len(steps_of(trial, "loss/loss"))

    def test_what_a_callback_saves_belongs_to_its_batch(self, every_fifth):
        def train(hook):
            fit(model(), then=lambda batch: hook.save_scalar("mine", batch))

        _, trial = every_fifth(train)

        assert [*map(float, range(12))] == series(trial, "scalar/mine")
        assert steps_of(trial, "loss/loss") == steps_of(trial, "scalar/mine")

    def test_other_modes_come_in_their_order(self, every_fifth):
        """The last batch of an epoch is handed on before those of the validation."""

        def train(hook):
            del hook
            made = model()
            fit(made, epochs=2, validation_data=(X, Y), validation_batch_size=8)
            made.predict(X, batch_size=8, verbose=0)

        _, trial = every_fifth(train)

        evaluated = steps_of(trial, "loss/loss", "EVAL")
        assert (24, 12) == (len(steps_of(trial, "loss/loss")), len(evaluated))
        assert [0, 1, 5, 10] == [
            evaluated.index(one) for one in steps_of(trial, "output/hidden", "EVAL")
        ]

    def test_requested_collections_are_saved_of_every_batch(self, every_fifth):
        _, trial = every_fifth(lambda _: fit(model()), policy=["gradients"])

        assert 12 == len(steps_of(trial, "gradient/hidden/kernel"))
        assert 4 == len(steps_of(trial, "hidden/kernel"))

    def test_after_a_loss_that_is_not_finite_batches_are_observed_in_full(self, every_fifth):
        def train(hook):
            made = model()

            def spoil(batch):
                if batch == 6:
                    made.layers[-1].bias.assign([np.nan])

            each = EachBatch(spoil)
            del hook
            for start in range(0, 48, 4):
                made.train_on_batch(X[start : start + 4], Y[start : start + 4])
                each.on_train_batch_end(start // 4)

        _, trial = every_fifth(train)

        every = steps_of(trial, "loss/loss")
        full = [every.index(one) for one in steps_of(trial, "gradient/hidden/kernel")]
        assert [0, 1, 5] == full[:3]
        assert {9, 10, 11} <= set(full)

    def test_a_metric_that_is_a_variable_is_read(self, every_fifth):
        """The state in which it is kept is given away to the next batch."""
        logs, trial = every_fifth(lambda _: fit(model(metrics=[Total()])))

        assert [one["total"] for one in logs] == series(trial, "metric/total")

    def test_what_a_train_step_of_the_scripts_own_returns_is_that_of_every_batch(self, every_fifth):
        class Doubled(keras.Sequential):
            def train_step(self, *given):
                found = super().train_step(*given)
                logs = found[0] if isinstance(found, tuple) else found
                logs["twice"] = 2 * logs["loss"]
                return found

        made = Doubled([keras.Input((4,)), layers.Dense(1)])
        made.compile("adam", "mse", metrics=[])
        logs, trial = every_fifth(lambda _: fit(made))

        assert 12 == len(logs)
        assert [one["twice"] for one in logs] == series(trial, "metric/twice")
        assert [one["loss"] for one in logs] == series(trial, "metric/loss")


class TestMeasuring:
    def test_our_own_time_is_measured_and_the_period_chosen(self, monkeypatch, tmp_path):
        monkeypatch.setattr(budget, "START_S", 0.0)
        said = []
        with KerasHook(run=tmp_path / "run", say=said.append, strict=True, budget=0.01) as hook:
            for _ in range(3):
                fit(model())

        assert hook.recorder.budget.period > 1
        assert 0 < hook.recorder.budget.cost()
        assert any("losses at every step" in line for line in said)


def test_the_first_batches_of_another_training_are_observed_in_full(every_fifth):
    """Of another model, or of the same one that is compiled anew."""

    def train(hook):
        first = model()
        first.fit(X, Y, batch_size=4, epochs=1, verbose=0)
        first.compile("sgd", "mse")
        first.fit(X, Y, batch_size=4, epochs=1, verbose=0)

    _, trial = every_fifth(train)

    full = trial.tensor("hidden/kernel").steps()
    assert [0, 1, 5, 10, *range(12, 11 + FULL_STEPS)] == full[: 3 + FULL_STEPS]
