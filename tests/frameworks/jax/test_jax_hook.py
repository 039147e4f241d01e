"""What the hook for JAX sees of a training, and what it says it cannot."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import jax.stages
import numpy as np
import optax
import pytest
from flax import nnx

from stepwatch.errors import TrainingStopped
from stepwatch.hooks.jax import JaxHook, packed_stats
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial
from tests.support.frameworks.jax.jax_trainings import (
    Model,
    batches,
    initial_params,
    mse,
    sgd,
    train_nnx,
)

pytestmark = pytest.mark.framework
COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def hook(tmp_path):
    """A hook that raises its own failures."""
    with JaxHook(tmp_path / "run", say=lambda _: None, strict=True) as made:
        yield made


@pytest.fixture
def compiled():
    """Counts what was compiled."""
    count = []

    def listen(event, *_, **__):
        if event == COMPILED:
            count.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield lambda: len(count)
    jax.monitoring.unregister_event_duration_listener(listen)


def seen_in(hook):
    """Return what was recorded, once the hook is closed."""
    hook.close()
    return Trial(hook.recorder.store.url)


def one_batch():
    """Return inputs and targets."""
    return next(batches(1))


class TestGraphs:
    def test_nothing_is_compiled_after_the_first_step(self, hook, compiled):
        """Neither for us nor for the script, whose function is compiled once."""

        @jax.jit
        def train_step(params, x, y):
            loss, gradients = jax.value_and_grad(mse)(params, x, y)
            return sgd(params, gradients), loss

        params, before = initial_params(), 0
        x, y = one_batch()
        for step in range(5):
            params, _ = train_step(params, x, y)
            before = compiled() if step == 0 else before

        assert compiled() == before

    @pytest.mark.parametrize("on_host", [True, False])
    def test_full_values_are_a_graph_of_their_own(self, tmp_path, compiled, monkeypatch, on_host):
        """On an accelerator: it is compiled at the first step that wants them, and used again."""
        monkeypatch.setattr(packed_stats, "is_on_host", lambda: on_host)
        weights = ["weights:raw:every=3,first=3"]
        hook = JaxHook(tmp_path / "run", policy=weights, say=lambda _: None, strict=True)
        gradient = jax.jit(jax.grad(lambda w, x: jnp.sum(w * x)))
        counts = []
        for step in range(8):
            gradient(jnp.full(2, float(step)), jnp.ones(2))
            counts.append(compiled())

        trial = seen_in(hook)
        graphs = [step for step in range(1, 8) if counts[step] > counts[step - 1]]
        assert graphs == ([] if on_host else [3])
        np.testing.assert_array_equal([3, 3], trial.tensor("w").value(3, mode=Mode.TRAIN))
        np.testing.assert_array_equal([6, 6], trial.tensor("w").value(6, mode=Mode.TRAIN))

    def test_a_jitted_function_is_what_it_was(self, hook):
        """It can be lowered, inspected, made a method and nested."""

        class Trainer:
            @jax.jit
            def twice(self, x):
                return 2 * x

            __hash__ = object.__hash__

        jitted = jax.jit(mse)
        params = initial_params()

        assert isinstance(jitted, jax.stages.Wrapped)
        assert jitted.lower(params, *one_batch()).compile()(params, *one_batch()) > 0
        assert jitted.__name__ == "mse"
        assert jax.jit(static_argnums=1)(lambda x, n: x * n)(2, 3) == 6
        assert jax.vmap(jax.jit(lambda x: x + 1))(jnp.zeros(3)).sum() == 3
        assert jax.make_jaxpr(jitted)(params, *one_batch()).jaxpr.outvars
        jax.tree_util.register_static(Trainer)
        assert Trainer().twice(jnp.ones(())) == 2

    def test_keys_among_the_arguments_are_no_samples_and_no_parameters(self, hook):
        """Those with a type of their own, one for each member of something."""
        optimizer = optax.adam(0.1)

        @jax.jit
        def step(w, state, keys):
            noise = jax.random.normal(keys[0], w.shape)
            gradient = jax.grad(lambda w: jnp.sum((w - noise) ** 2))(w)
            updates, state = optimizer.update(gradient, state)
            return optax.apply_updates(w, updates), state

        w = jnp.ones(3)
        state = optimizer.init(w)
        for key in range(3):
            w, state = step(w, state, jax.random.split(jax.random.key(key), 4))

        assert len(seen_in(hook).steps(Mode.TRAIN)) == 3

    def test_shardings_of_outputs_are_kept(self, hook):
        """What is one more output has none."""
        device = jax.sharding.SingleDeviceSharding(jax.devices()[0])

        def gradient(w):
            return jax.grad(jnp.sum)(w)

        jax.jit(gradient, out_shardings=device)(jnp.ones(3))

        assert "gradient/a" in seen_in(hook).tensor_names()

    def test_errors_of_the_script_are_its_own(self, hook):
        """A function that cannot be traced says so as ever, and the next one is seen."""
        with pytest.raises(TypeError, match="scalar-output"):
            jax.jit(jax.grad(lambda w: w))(jnp.ones(2))

        jax.jit(jax.grad(jnp.sum))(jnp.ones(2))
        assert len(seen_in(hook).steps(Mode.TRAIN)) == 1

    def test_what_jax_checks_does_not_find_us(self, hook):
        """Nor does a loss that is nan, where it is told to look for those, and transfers."""
        jitted = jax.jit(lambda w: jax.value_and_grad(lambda w: jnp.sum(w**2))(w))
        with jax.checking_leaks(), jax.transfer_guard_device_to_host("disallow"):
            jitted(jnp.ones(2))
            hook.detach()
            hook.attach()
        with jax.debug_nans(True):
            jitted(jnp.ones(2))
        with jax.disable_jit():
            jitted(jnp.ones(2))

        assert [0, 1, 2] == seen_in(hook).tensor("loss/lambda").steps(Mode.TRAIN)


class TestNames:
    def test_parameters_have_their_paths(self, hook):
        """Of dicts, lists and single arrays, with the argument's name where there are several."""

        def loss(net, scale, x):
            return jnp.sum(net["layers"][0] * scale * x)

        jax.value_and_grad(loss, argnums=(0, 1))({"layers": [jnp.ones(2)]}, 2.0 * jnp.ones(()), 1.0)

        weights = seen_in(hook).tensor_names(collection="weights")
        assert ["net.layers.0", "scale"] == sorted(weights)

    def test_two_models_do_not_share_names(self, hook):
        """The name of the loss stands before those of the second."""

        def critic(params):
            return jnp.sum(params["w"] ** 2)

        def actor(params):
            return jnp.sum(params["w"] * 3)

        for loss, value in ((critic, 1.0), (actor, 2.0), (critic, 1.0)):
            jax.jit(jax.grad(loss))({"w": jnp.full(2, value)})

        trial = seen_in(hook)
        assert ["actor.w", "w"] == sorted(trial.tensor_names(collection="weights"))
        assert [0, 2] == trial.tensor("gradient/w").steps(Mode.TRAIN)
        assert [1] == trial.tensor("gradient/actor.w").steps(Mode.TRAIN)

    def test_two_losses_of_one_model_share_its_names(self, hook):
        """Where they are given the very same parameters in one step."""

        @jax.jit
        def train_step(params):
            first = jax.grad(lambda p: jnp.sum(p["w"]))(params)
            return first, jax.grad(lambda p: jnp.sum(p["w"] * 2))(params)

        train_step({"w": jnp.ones(2)})

        assert ["w"] == seen_in(hook).tensor_names(collection="weights")

    def test_outputs_of_modules_have_their_paths(self, hook):
        """The whole model goes by the name of its class."""
        train_nnx(2)

        outputs = seen_in(hook).tensor_names(collection="outputs")
        names = ["output/Model", "output/dropout", "output/layers.0", "output/layers.1"]
        assert names == sorted(outputs)


class TestSteps:
    def test_an_evaluation_is_a_step_of_its_own(self, hook):
        """Compiled or not, a module that runs without gradients."""
        model = Model(nnx.Rngs(0))
        x, _ = one_batch()
        forward = nnx.jit(lambda model, x: model(x))
        nnx.value_and_grad(lambda model: jnp.sum(model(x)))(model)
        forward(model, x)
        model(x)
        forward(model, x)

        trial = seen_in(hook)
        assert (1, 3) == (len(trial.steps(Mode.TRAIN)), len(trial.steps(Mode.EVAL)))
        assert [0, 1, 2] == trial.tensor("output/layers.1").steps(Mode.EVAL)

    def test_what_is_saved_inside_of_a_graph_comes_with_each_call(self, hook):
        """Traced values, and those of before and after the call."""

        @jax.jit
        def gradient(w):
            hook.save_scalar("norm", jnp.sqrt(jnp.sum(w**2)))
            return jax.grad(jnp.sum)(w)

        for step in range(3):
            gradient(jnp.full(4, float(step)))
            hook.save_scalar("after", step)

        trial = seen_in(hook)
        for name, values in (("scalar/norm", [0, 2, 4]), ("scalar/after", [0, 1, 2])):
            np.testing.assert_allclose(values, trial.tensor(name).statistics()["mean"])

    def test_calls_can_be_made_one_step(self, hook):
        """Gradients that are added up are one step, and a count one of an evaluation."""
        gradient = jax.jit(jax.grad(lambda w, x: jnp.sum(w * x)))
        for _ in range(2):
            with hook.step():
                gradient(jnp.ones(2), jnp.ones(2))
                gradient(jnp.ones(2), 3 * jnp.ones(2))
        with hook.step("EVAL"):
            hook.save_scalar("accuracy", 0.5)

        trial = seen_in(hook)
        means = trial.tensor("gradient/w").statistics(mode=Mode.TRAIN)["mean"]
        np.testing.assert_array_equal([2, 2], means)
        assert [0] == trial.tensor("scalar/accuracy").steps(Mode.EVAL)

    def test_a_loop_that_trains_is_as_many_steps(self, hook):
        """All turns of ``lax.scan`` come with the call that holds them."""

        def turn(w, x):
            loss, gradient = jax.value_and_grad(lambda w: jnp.sum(w * x))(w)
            return w - gradient, loss

        _, losses = jax.jit(lambda w, xs: jax.lax.scan(turn, w, xs))(jnp.ones(()), jnp.arange(4.0))
        jax.lax.scan(turn, jnp.ones(()), jnp.arange(4.0))

        seen = seen_in(hook).tensor("loss/lambda").statistics(mode=Mode.TRAIN)["mean"]
        np.testing.assert_allclose([*losses, *losses], seen)

    def test_of_a_long_loop_some_turns_are_observed_in_full(self, tmp_path):
        """And the loss of each."""
        with JaxHook(run=tmp_path / "run", budget=0.03, say=lambda _: None) as hook:

            def turn(w, x):
                loss, gradient = jax.value_and_grad(lambda w: jnp.sum((w - x) ** 2))(w)
                return w - 0.1 * gradient, loss

            jax.lax.scan(turn, jnp.ones(()), jnp.ones(3000))

        trial = seen_in(hook)
        assert 3000 == len(trial.tensor("loss/lambda").steps(Mode.TRAIN))
        assert 300 <= len(trial.tensor("gradient/w").steps(Mode.TRAIN)) < 700

    def test_the_body_of_a_loop_is_kept_no_longer_than_by_the_script(self, hook):
        """Nor is what it closes over, such as a batch."""
        bodies = []

        def loop(batch):
            def turn(carry, x):
                return carry + (x * batch).sum(), x

            bodies.append(weakref.ref(turn))
            return jax.lax.scan(turn, jnp.zeros(()), jnp.arange(3.0))

        for _ in range(3):
            loop(jnp.ones(2))
        gc.collect()

        assert [None, None, None] == [body() for body in bodies]

    def test_the_body_of_a_loop_is_compiled_once(self, hook, compiled):
        """As by JAX itself, which knows it by its identity."""

        def turn(carry, x):
            hook.save_scalar("carry", carry)
            return carry + x, x

        jax.lax.scan(turn, jnp.zeros(()), jnp.arange(3.0))
        before = compiled()
        jax.lax.scan(turn, jnp.zeros(()), jnp.arange(3.0))

        assert before == compiled()

    def test_a_loop_inside_of_a_model_is_one_step(self, hook):
        """Its module runs once for each turn, as a shared layer does."""
        cell = nnx.Linear(3, 3, rngs=nnx.Rngs(0))

        @jax.jit
        def gradient(kernel):
            def loss(kernel):
                def turn(h, x):
                    h = hook_output(h @ kernel + x)
                    return h, h.sum()

                return jax.lax.scan(turn, jnp.zeros(3), jnp.ones((5, 3)))[1].sum()

            return jax.grad(loss)(kernel)

        def hook_output(h):
            hook.save_tensor("hidden", h)
            return h

        gradient(cell.kernel[...])

        trial = seen_in(hook)
        assert [0] == trial.tensor("tensor/hidden").steps(Mode.TRAIN)
        assert trial.tensor("tensor/hidden").statistics()["count"] == [15]

    def test_a_training_ends_before_the_next_call(self, hook):
        """So that what the last one returned is the script's, whose buffers it gave away."""
        step = jax.jit(lambda w: w - jax.grad(jnp.sum)(w), donate_argnums=0)
        w = step(jnp.ones(2))
        hook.stop("enough")
        with pytest.raises(TrainingStopped):
            step(w)

        assert not w.is_deleted()


class TestWhatIsCarried:
    def test_narrow_dtypes_are_read_as_they_are(self, tmp_path):
        """bfloat16 parameters and gradients."""
        policy = ["weights:raw"]
        hook = JaxHook(tmp_path / "run", policy=policy, say=lambda _: None, strict=True)
        jax.jit(jax.grad(lambda w: (w**2).sum()))(jnp.full(3, 1.5, jnp.bfloat16))

        trial = seen_in(hook)
        value = trial.tensor("w").value(0)
        assert ("bfloat16", 1.5) == (value.dtype.name, float(value[0]))
        assert trial.tensor("gradient/w").statistics()["max"] == [3.0]

    def test_modules_under_remat_are_seen(self, hook):
        """What is computed again gives what was seen the first time."""

        @jax.checkpoint
        def block(w, x):
            h = jnp.tanh(w * x)
            hook.save_tensor("h", h)
            return h

        jax.jit(jax.grad(lambda w: block(w, jnp.ones(3)).sum()))(jnp.ones(3))

        assert "tensor/h" in seen_in(hook).tensor_names()

    def test_optimizers_and_nested_graphs_are_left_alone(self, hook):
        """optax inside, a jitted loss inside of a jitted step."""
        optimizer = optax.adam(0.1)
        loss = jax.jit(mse)

        @jax.jit
        def train_step(params, state, x, y):
            value, gradients = jax.value_and_grad(loss)(params, x, y)
            updates, state = optimizer.update(gradients, state)
            return optax.apply_updates(params, updates), state, value

        params = initial_params()
        train_step(params, optimizer.init(params), *one_batch())

        assert "loss/mse" in seen_in(hook).tensor_names()


class TestSchedules:
    def _trains(self, hook, optimizer, *, apart=False, steps=4):
        def change(params, state, gradients):
            updates, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state

        apart_change = jax.jit(change)

        @jax.jit
        def train_step(params, state, x, y):
            _, gradients = jax.value_and_grad(mse)(params, x, y)
            return change(params, state, gradients)

        params = initial_params()
        state = optimizer.init(params)
        differentiate = jax.jit(jax.grad(mse))
        for _ in range(steps):
            if apart:
                gradients = differentiate(params, *one_batch())
                params, state = apart_change(params, state, gradients)
            else:
                params, state = train_step(params, state, *one_batch())
        return seen_in(hook), params

    @pytest.mark.parametrize("apart", [False, True])
    def test_the_rate_that_a_schedule_of_optax_gives_is_that_of_the_step(self, hook, apart):
        """Also where the update is a call of its own: it is no step."""
        schedule = optax.exponential_decay(0.1, transition_steps=1, decay_rate=0.5)
        trial, _ = self._trains(hook, optax.adam(schedule), apart=apart)

        assert ["TRAIN"] == [mode.value for mode in trial.modes]
        rates = trial.tensor("learning_rate/0").statistics()["sum"]
        assert [0.1, 0.05, 0.025, 0.0125] == pytest.approx(list(rates))

    def test_a_rate_that_never_changes_is_not_observed(self, hook):
        """optax multiplies by it, and keeps no number."""
        trial, _ = self._trains(hook, optax.sgd(0.1))

        assert not [name for name in trial.tensor_names() if name.startswith("learning_rate")]

    def test_an_update_inside_of_a_condition_is_left_alone(self, hook):
        """What is traced there is of no meaning outside."""
        schedule = optax.exponential_decay(0.1, transition_steps=1, decay_rate=0.5)
        optimizer = optax.MultiSteps(optax.sgd(schedule), every_k_schedule=2)
        trial, _ = self._trains(hook, optimizer)

        assert "loss/mse" in trial.tensor_names()

    def test_updates_are_those_without_a_hook(self, hook):
        """To the last bit."""
        schedule = optax.cosine_decay_schedule(0.1, 4)
        _, seen = self._trains(hook, optax.sgd(schedule))
        hook.close()
        params = initial_params()
        plain = optax.sgd(schedule)
        state = plain.init(params)

        @jax.jit
        def train_step(params, state, x, y):
            _, gradients = jax.value_and_grad(mse)(params, x, y)
            updates, state = plain.update(gradients, state, params)
            return optax.apply_updates(params, updates), state

        for _ in range(4):
            params, state = train_step(params, state, *one_batch())

        for one, other in zip(jax.tree.leaves(seen), jax.tree.leaves(params), strict=True):
            np.testing.assert_array_equal(one, other)


class TestCoverage:
    def test_it_says_what_a_transformation_hides(self, hook):
        """Gradients within a derivative in forward mode, such as for a Hessian."""

        def each(w, x):
            return jnp.sum(w**2 * x)

        @jax.jit
        def train_step(w, xs):
            jax.jacfwd(jax.grad(each))(w, xs[0])
            return jax.grad(lambda w: each(w, xs.sum(0)))(w)

        train_step(jnp.ones(2), jnp.ones((3, 2)))
        hook.close()

        assert "1 of 1 parameters" in hook.coverage
        assert "nothing of each (in a transformation" in hook.coverage

    def test_it_counts_modules_that_did_not_run(self, hook):
        """By name."""

        class TwoHeads(nnx.Module):
            def __init__(self, rngs):
                self.used, self.idle = nnx.Linear(2, 1, rngs=rngs), nnx.Linear(2, 1, rngs=rngs)

            def __call__(self, x):
                return self.used(x)

        nnx.value_and_grad(lambda m: m(jnp.ones(2)).sum())(TwoHeads(nnx.Rngs(0)))
        hook.close()

        assert "2 of 3 outputs (not called in this step: idle)" in hook.coverage
        assert "4 of 4 parameters" in hook.coverage

    def test_complex_parameters_are_refused_by_name(self, hook):
        """They have no order, so no statistics."""
        jax.grad(lambda p: jnp.abs(p["c"]).sum() + p["r"])({"c": jnp.ones(2) * 1j, "r": 1.0})
        hook.close()

        assert "1 of 2 parameters (of a dtype without statistics: c)" in hook.coverage
