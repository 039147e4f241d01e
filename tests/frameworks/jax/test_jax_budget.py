"""A budget for JAX: most steps are observed by their losses only."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from stepwatch import Profiler, ProfilerConfig
from stepwatch.capture import budget
from stepwatch.capture.recorder import Recorder
from stepwatch.hooks.jax import JaxHook, packed_stats
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial
from tests.support.frameworks.jax.jax_trainings import Model, batches, initial_params, mse, sgd

pytestmark = pytest.mark.framework


@pytest.fixture
def every_fifth(monkeypatch, tmp_path):
    """Return a function that trains under a hook which observes every fifth step in full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 2)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "_MEASURED", 10**9)  # the period stays as it is

    def watched(train, **options):
        run = tmp_path / "run"
        with JaxHook(run, say=str, strict=True, budget=0.03, **options) as hook:
            hook.recorder.budget.period = 5
            returned = train(hook)
        return returned, Trial(run)

    return watched


def fit(hook=None, *, steps=12, jit=None, each=lambda hook, step: None, loss=mse):
    """Train with plain pytrees; return the losses and the parameters."""

    def train_step(params, x, y):
        found, gradients = jax.value_and_grad(loss)(params, x, y)
        return sgd(params, gradients), found

    compiled = (jit or jax.jit)(train_step)  # that of JAX is replaced while there is a hook
    params, losses = initial_params(), []
    for step, (x, y) in enumerate(batches(steps)):
        params, found = compiled(params, x, y)
        losses.append(float(found))
        each(hook, step)
    return losses, jax.tree.leaves(params)


def unchanged(function):
    """Stand for ``jax.jit`` where nothing is compiled."""
    return function


def steps_of(trial, name, mode="TRAIN"):
    return list(trial.tensor(name).steps(mode))


def series(trial, name):
    return [
        float(trial.tensor(name).value(step, mode=Mode.TRAIN)) for step in steps_of(trial, name)
    ]


class TestThinSteps:
    @pytest.mark.parametrize("on_host", [True, False])
    @pytest.mark.parametrize("jit", [None, unchanged])
    def test_every_loss_is_stored_and_all_else_of_full_steps(
        self, every_fifth, monkeypatch, on_host, jit
    ):
        monkeypatch.setattr(packed_stats, "is_on_host", lambda: on_host)
        (losses, _), trial = every_fifth(lambda _: fit(jit=jit))

        assert losses == series(trial, "loss/mse")
        # digests of samples are saved at every tenth step
        others = ("loss/", "sample")
        names = [name for name in trial.tensor_names() if not name.startswith(others)]
        assert len(names) > 1
        for name in names:
            assert [0, 1, 5, 10] == steps_of(trial, name), name

    @pytest.mark.parametrize("output_s", [1e-9, 1e9], ids=["full graph", "graph of losses"])
    @pytest.mark.parametrize("jit", [None, unchanged])
    def test_they_are_handed_on_as_numbers(self, every_fifth, monkeypatch, output_s, jit):
        """Whatever else their graph observes."""
        taken, take = [], Recorder.take_scalars

        def count(recorder, layout, values):
            taken.append(values)
            take(recorder, layout, values)

        monkeypatch.setattr(packed_stats, "_OUTPUT_S", output_s)
        monkeypatch.setattr(Recorder, "take_scalars", count)
        (losses, _), _ = every_fifth(lambda _: fit(jit=jit))

        assert [loss for step, loss in enumerate(losses) if step > 1 and step % 5] == [
            loss for (loss,) in taken
        ]

    def test_the_training_is_the_one_it_would_have_been(self, every_fifth):
        """Losses and parameters are the same bit for bit."""
        plain, before = fit()
        observed, after = every_fifth(lambda _: fit())[0]

        assert plain == observed
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_the_time_of_a_full_step_is_its_own(self, every_fifth):
        """And not that of all thin steps since the last full one."""
        profiler = Profiler(ProfilerConfig(interval_ms=0))
        _, trial = every_fifth(lambda _: fit(), listeners=[profiler])
        times = {one["step"]: one for one in trial.profile.steps().to_pylist()}

        ended = {record.step: record.time_ns for (record,) in trial.records()}

        assert {1, 5, 10} <= set(times) <= {0, 1, 5, 10}
        for step in (5, 10):
            assert times[step]["start_ns"] > ended[step - 2]

    @pytest.mark.parametrize(("output_s", "graphs"), [(1e-9, 1), (1e9, 2)])
    def test_a_graph_of_losses_is_compiled_once_it_pays(
        self, every_fifth, monkeypatch, output_s, graphs
    ):
        """When what the first one returned for nobody has taken as long as compiling."""
        monkeypatch.setattr(packed_stats, "_OUTPUT_S", output_s)

        def train(_):
            gradient = jax.jit(jax.grad(mse))
            params = initial_params()
            for x, y in batches(12):
                gradient(params, x, y)
            return gradient

        gradient, trial = every_fifth(train)
        assert graphs == len(gradient._with_stats)
        assert 12 == len(steps_of(trial, "loss/mse"))
        assert [0, 1, 5, 10] == steps_of(trial, "gradient/out.bias")

    def test_what_the_script_saves_is_in_every_step(self, every_fifth):
        _, trial = every_fifth(
            lambda hook: fit(hook, steps=8, each=lambda hook, step: hook.save_scalar("mine", step))
        )

        assert [*range(8)] == steps_of(trial, "scalar/mine") == series(trial, "scalar/mine")

    def test_requested_collections_are_saved_in_every_step(self, every_fifth):
        _, trial = every_fifth(lambda _: fit(steps=8), policy=["gradients"])

        gradient = next(name for name in trial.tensor_names() if name.startswith("gradient/"))
        assert [*range(8)] == steps_of(trial, gradient)
        assert [0, 1, 5] == steps_of(trial, gradient.removeprefix("gradient/"))

    def test_after_a_loss_that_is_not_finite_steps_are_observed_in_full(self, every_fifth):
        """From the step after the next on: its loss is read when the next one was handed over."""

        def train(hook):
            del hook
            gradient = jax.jit(jax.grad(lambda w, x: jnp.sum(w * x)))
            for step in range(14):
                gradient(jnp.ones(2), jnp.full(2, jnp.nan if step == 6 else 1.0))

        _, trial = every_fifth(train)
        assert [0, 1, 5, *range(8, 14)] == steps_of(trial, "w")

    def test_evaluations_are_steps_where_nothing_of_them_is_stored(self, every_fifth):
        """And every fifth of them is observed in full."""

        def train(hook):
            del hook
            model = Model(nnx.Rngs(0))
            run = nnx.jit(lambda model, x: model(x))
            for x, _ in batches(12):
                run(model, x)

        _, trial = every_fifth(train)
        output = next(name for name in trial.tensor_names() if name.startswith("output/"))
        assert 4 == len(steps_of(trial, output, "EVAL"))  # 0, 1, 5 and 10 of EVAL


class TestMeasuring:
    def test_our_own_time_is_measured_and_the_period_chosen(self, monkeypatch, tmp_path):
        monkeypatch.setattr(budget, "START_S", 0.0)
        said = []
        with JaxHook(tmp_path / "run", say=said.append, strict=True, budget=0.01) as hook:
            fit(steps=60)

        assert hook.recorder.budget.period > 1
        assert 0 < hook.recorder.budget.cost()
        assert any("losses at every step" in line for line in said)
