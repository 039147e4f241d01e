"""Which of the default rules can judge trainings of JAX, as the page on parity has it."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen as nn
from flax import nnx
from flax.training.train_state import TrainState

from stepwatch import LiveWatch
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


@pytest.mark.parametrize(
    ("schedule", "found"),
    [
        (lambda: optax.exponential_decay(0.01, transition_steps=1, decay_rate=0.9), ["ended"]),
        (lambda: optax.exponential_decay(0.01, transition_steps=100, decay_rate=0.9), []),
        (lambda: optax.cosine_decay_schedule(0.01, 240), []),
        (lambda: optax.warmup_cosine_decay_schedule(0.0, 0.01, 20, 240), []),
        (lambda: lambda count: 0.01 * (1 - count / 60), ["negative"]),
    ],
    ids=["gone after a hundred steps", "slow", "cosine", "warm-up", "below zero"],
)
def test_a_rate_that_is_gone_long_before_the_training_ends_is_found(schedule, found, tmp_path):
    """By the rates that the schedule of optax gives; or that it becomes a negative one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 4)).astype("float32")
    live = LiveWatch(["learning_rate_anomaly:cooldown_steps=1000"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        optimizer = optax.adam(schedule())

        @jax.jit
        def train_step(w, state):
            gradients = jax.grad(lambda w: ((x @ w - x[:, 0]) ** 2).mean())(w)
            updates, state = optimizer.update(gradients, state)
            return optax.apply_updates(w, updates), state

        w = jnp.zeros(4)
        state = optimizer.init(w)
        for _ in range(240):
            w, state = train_step(w, state)

    assert found == [one.condition.split()[0] for one in live.findings]


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize(
    "way",
    ["same", "drawn anew", "split", "folded", "by name", "another folded", "in a loop", "chosen"],
)
def test_a_random_key_that_is_used_again_is_found(way, sized, typed, tmp_path):
    """All batches are one then, unless the key is folded with the number of the step.

    It makes no difference whether the size of the batch is given, too, as a static argument.

    That a layer folds a key of its own with what it counts is nothing to this one.
    """
    x = np.random.default_rng(0).normal(size=(200, 4)).astype("float32")
    live = LiveWatch(["setup"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @partial(jax.jit, static_argnames="size")
        def train_step(w, number, key, size=16):
            key = jax.random.fold_in(key, number) if way == "folded" else key
            if way == "another folded":
                w = w + 1e-3 * jax.random.normal(jax.random.fold_in(jax.random.key(1), number), 4)
            elif way == "chosen":
                key = jax.random.split(key, 40)[number]
            elif way == "in a loop":
                key = jax.lax.fori_loop(0, number, lambda at, one: jax.random.split(one)[0], key)
            chosen = jnp.asarray(x)[jax.random.choice(key, 200, (size,))]
            gradients = jax.grad(lambda w: ((chosen @ w - chosen[:, 0]) ** 2).mean())(w)
            return w - 0.1 * gradients

        w, key = jnp.zeros(4), (jax.random.key if typed else jax.random.PRNGKey)(0)
        for number in range(40):
            given = key
            if way == "split":
                key, given = jax.random.split(key)
            elif way == "drawn anew":  # and the new one is lost
                _, given = jax.random.split(key)
            named = {"key": given} if way == "by name" else {}
            size = {"size": 16} if sized else {}
            w = train_step(w, number, *([] if named else [given]), **named, **size)

    expected = [] if way in ("split", "folded", "chosen", "in a loop") else ["same_key train_step"]
    assert expected == [one.condition for one in live.findings]


def test_a_call_of_the_host_in_a_graph_is_looked_through(tmp_path):
    """It returns nothing; as a script prints from within a compiled training."""
    live, told = LiveWatch(["setup"]), []

    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def train_step(w, key):
            x = jax.random.normal(key, (16, 4))
            loss, gradient = jax.value_and_grad(lambda w: ((x @ w - x[:, 0]) ** 2).mean())(w)
            jax.debug.callback(lambda value: told.append(float(value)), loss)
            return w - 0.1 * gradient

        w, key = jnp.zeros(4), jax.random.key(0)
        for _ in range(4):
            key, given = jax.random.split(key)
            w = train_step(w, given)
        jax.effects_barrier()

    assert ([], 4) == (live.findings, len(told))


@pytest.mark.parametrize("given", ["advantages", "values"])
def test_a_loss_of_advantages_need_not_fall(given, tmp_path):
    """They change with the policy; the loss of another training that rises is told."""
    live = LiveWatch(["loss_not_decreasing:plain_only=true"])
    x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")

    def of_advantages(w, x, advantages):
        return ((x @ w - advantages) ** 2).mean()

    def of_values(w, x, values):
        return ((x @ w - values) ** 2).mean()

    loss = of_advantages if given == "advantages" else of_values
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def train_step(w, x, wanted):
            return w - 1e-4 * jax.grad(loss)(w, x, wanted)

        w = jnp.zeros(4)
        for step in range(260):
            w = train_step(w, x, jnp.full(32, 1 + step / 50))

    assert (given == "values") == bool(live.findings)


def test_arguments_whose_memory_is_donated_are_not_read(tmp_path):
    """They are deleted when the function returns."""
    x = jnp.ones((8, 4))
    with JaxHook(run=tmp_path / "run", say=lambda _: None, strict=True) as hook:
        optimizer = optax.adam(0.1)

        @partial(jax.jit, donate_argnums=(0, 1, 2))
        def train_step(w, state, key):
            noisy = x + jax.random.normal(key, x.shape)
            gradients = jax.grad(lambda w: ((noisy @ w) ** 2).mean())(w)
            updates, state = optimizer.update(gradients, state)
            return optax.apply_updates(w, updates), state, jax.random.split(key)[0]

        w = jnp.ones(4)
        state, key = optimizer.init(w), jax.random.PRNGKey(0)
        for _ in range(5):
            w, state, key = train_step(w, state, key)

    assert 5 == hook.recorder.num_steps


@pytest.mark.parametrize("splits", [False, True])
def test_a_key_among_other_arguments_is_looked_at(splits, tmp_path):
    """As filtered transformations of Equinox give all that is an array in one argument."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(200, 4)))
    live = LiveWatch(["setup"])

    def loss(w, key):
        noisy = x + 0.1 * jax.random.normal(key, x.shape)
        return ((noisy @ w - x[:, 0]) ** 2).mean()

    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @partial(jax.jit, static_argnums=1)
        def make_step(dynamic, static):
            w, key = dynamic
            return w - 0.1 * static(w, key)

        w, key, gradient = jnp.zeros(4), jax.random.PRNGKey(0), jax.grad(loss)
        for _ in range(40):
            w = make_step((w, key), gradient)
            key = jax.random.split(key)[0] if splits else key

    expected = [] if splits else ["same_key make_step"]
    assert expected == [one.condition for one in live.findings]


@pytest.mark.parametrize("way", ["selects", "adds", "in a loop"])
@pytest.mark.parametrize(("ahead", "found"), [(0, []), (1, ["future"]), (2, ["future"])])
def test_a_constant_mask_that_shows_later_tokens_is_named(way, ahead, found, tmp_path):
    """However it masks scores."""
    tokens = np.random.default_rng(0).integers(0, 20, (8, 17))
    live = LiveWatch("dependence")

    def attention(x, w):
        may_see = jnp.tril(jnp.ones((16, 16)), k=ahead)
        scores = (x @ w) @ x.swapaxes(1, 2)
        if way == "adds":
            scores = scores + (1 - may_see) * -1e9
        else:
            scores = jnp.where(may_see[None], scores, -jnp.inf)
        return x + jax.nn.softmax(scores) @ x, None

    def loss(weights, tokens):
        x = weights["table"][tokens[:, :-1]]
        if way == "in a loop":
            x, _ = jax.lax.scan(attention, x, weights["layers"])
        else:
            for w in weights["layers"]:
                x, _ = attention(x, w)
        chances = jax.nn.log_softmax(x @ weights["table"].T)
        return -jnp.take_along_axis(chances, tokens[:, 1:, None], axis=2).mean()

    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def train_step(weights, tokens):
            gradients = jax.grad(loss)(weights, tokens)
            return jax.tree.map(lambda one, slope: one - 0.1 * slope, weights, gradients)

        weights = {"table": jnp.ones((20, 8)) * 0.1, "layers": jnp.ones((2, 8, 8)) * 0.1}
        for _ in range(12):
            weights = train_step(weights, tokens)

    assert found == [one.condition for one in live.findings]


@pytest.mark.parametrize(
    ("axis", "found"), [(0, ["over_samples"]), (1, [])], ids=["samples", "classes"]
)
@pytest.mark.parametrize("way", ["softmax", "log_softmax", "by hand"])
def test_a_softmax_over_the_samples_is_found(way, axis, found, tmp_path):
    rng = np.random.default_rng(0)
    x, y = (
        rng.normal(size=(32, 6)).astype("float32"),
        np.eye(4, dtype="float32")[rng.integers(4, size=32)],
    )
    live = LiveWatch(["setup"])

    def loss(weights, x, y):
        logits = x @ weights["w"] + weights["b"]
        if way == "softmax":
            logarithms = jnp.log(jax.nn.softmax(logits, axis=axis))
        elif way == "log_softmax":
            logarithms = jax.nn.log_softmax(logits, axis=axis)
        else:
            logarithms = logits - jnp.log(jnp.exp(logits).sum(axis, keepdims=True))
        return -(y * logarithms).sum(1).mean()

    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def update(weights, x, y):
            gradients = jax.grad(loss)(weights, x, y)
            return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)

        weights = {"w": rng.normal(size=(6, 4)).astype("float32"), "b": np.zeros(4, "float32")}
        for _ in range(24):
            weights = update(weights, x, y)

    assert found == [one.condition for one in live.findings]


class Dropped(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.Dropout(0.5, deterministic=False)(nn.relu(nn.Dense(8)(x))))


@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("noise", ["same_noise"]),
        ("closed over", ["same_noise"]),
        ("dropout", ["same_noise"]),
        ("dropout by a key", []),
        ("folded", []),
        ("in a loop", []),
        ("features", []),
        ("phases", []),
        ("mask of weights", []),
    ],
)
def test_a_function_that_draws_by_a_key_of_its_own_is_found(way, found, tmp_path):
    """Where it draws for the samples; not where a loop goes on from a key, or weights are fixed."""
    x = np.random.default_rng(0).normal(size=(32, 6)).astype("float32")
    live = LiveWatch(["setup"])
    outside = jax.random.key(3)
    model = Dropped()

    def noisy(params, x, key):
        own = jax.random.PRNGKey(3)
        if way.startswith("dropout"):
            return model.apply(params, x, rngs={"dropout": own if way == "dropout" else key})
        if way == "noise":
            x = x + 0.1 * jax.random.normal(own, x.shape)
        elif way == "closed over":
            x = jnp.where(jax.random.bernoulli(outside, 0.5, x.shape), x, 0.0)
        elif way == "folded":
            x = x + jax.random.normal(jax.random.fold_in(outside, key[0]), x.shape)
        elif way == "in a loop":

            def turn(carry, _):
                x, key = carry
                key, drawn = jax.random.split(key)
                return (x + 0.1 * jax.random.normal(drawn, x.shape), key), None

            x = jax.lax.scan(turn, (x, outside), None, 3)[0][0]
        elif way == "features":
            x = jnp.cos(x @ jax.random.normal(own, (6, 6)))
        elif way == "phases":
            x = jnp.cos(x + jax.random.uniform(own, (6,)))
        weights = params["w"]
        if way == "mask of weights":
            weights = weights * jax.random.bernoulli(own, 0.5, weights.shape)
        return x @ weights

    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def train_step(params, x, key):
            loss = lambda params: ((noisy(params, x, key)[:, 0] - x[:, 0]) ** 2).mean()  # noqa: E731
            gradients = jax.grad(loss)(params)
            return jax.tree.map(lambda one, by: one - 0.01 * by, params, gradients)

        params = {"w": jnp.ones((6, 1))}
        if way.startswith("dropout"):
            params = model.init({"params": outside, "dropout": outside}, x)
        for number in range(40):
            params = train_step(params, x, jax.random.PRNGKey(number))

    assert found == [one.condition for one in live.findings]


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("way", ["same", "split", "folded", "evaluated", "twice"])
def test_rows_that_are_drawn_by_one_key_between_the_steps_are_found(way, typed, tmp_path):
    """Not a sample that is evaluated now and then, nor what is drawn twice in a step."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(200, 4)).astype("float32"))
    live = LiveWatch(["setup"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def train_step(w, chosen):
            gradients = jax.grad(lambda w: ((chosen @ w - chosen[:, 0]) ** 2).mean())(w)
            return w - 0.1 * gradients

        w, key = jnp.zeros(4), (jax.random.key if typed else jax.random.PRNGKey)(0)
        for number in range(40):
            given = jax.random.fold_in(key, number)
            if way == "same":
                given = key
            elif way == "split":
                key, given = jax.random.split(key)
            for _ in range(1 + (way == "twice")):
                rows = jax.random.randint(given, (16,), 0, len(x))
            if way == "evaluated" and number % 2:
                jax.random.randint(key, (16,), 0, len(x))
            w = train_step(w, x[rows])

    expected = ["same_key randint"] if way == "same" else []
    assert expected == [one.condition for one in live.findings]


@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("same", ["same_key draw"]),
        ("split", []),
        ("counted", []),
        ("each trial", []),
        ("evaluated", []),
        ("shown", []),
    ],
)
def test_a_jitted_function_that_draws_each_batch_by_one_key_is_found(way, found, tmp_path):
    """Not what it draws for an evaluation, and no weights that each trial begins with."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(200, 4)).astype("float32"))
    live = LiveWatch(["setup"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def draw(key, number):
            key = jax.random.fold_in(key, number) if way == "counted" else key
            return x[jax.random.choice(key, 200, (16,))], jnp.zeros(4)

        @jax.jit
        def train_step(w, chosen):
            loss, gradients = jax.value_and_grad(lambda w: ((chosen @ w - 1) ** 2).mean())(w)
            return w - 0.1 * gradients, loss

        @jax.jit
        def evaluate(w, chosen):
            return ((chosen @ w - 1) ** 2).mean()

        w, key = jnp.zeros(4), jax.random.PRNGKey(0)
        for number in range(40):
            if way == "split":
                key, given = jax.random.split(key)
                w, _ = train_step(w, draw(given, number)[0])
            elif way == "each trial":
                chosen, first = draw(key, number)
                train_step(first, chosen)
            elif way in ("evaluated", "shown"):
                w, _ = train_step(w, x[number : number + 16])
                chosen, _ = draw(key, number)
                if way == "evaluated":
                    evaluate(w, chosen)
            else:
                w, _ = train_step(w, draw(key, number)[0])

    assert found == [one.condition for one in live.findings]


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.last = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(x)


@pytest.mark.parametrize("kind", ["plain", "a dict", "nnx"])
@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("same", ["same_batch"]),
        ("all the data", []),
        ("another", []),
        ("fewer are evaluated", []),
        ("predicts a grid", []),
    ],
)
def test_a_batch_that_is_drawn_the_same_each_time_is_found(way, found, kind, tmp_path):
    """Where more samples are evaluated; the same object at each step may be all the data."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4)).astype("float32")
    y = x[:, :3].argmax(1)
    live = LiveWatch(["repeated_data"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        if kind == "nnx":
            model = Regressor(nnx.Rngs(0))
            optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

            @nnx.jit
            def update(model, optimizer, x, y):
                optimizer.update(model, nnx.grad(loss_of)(model, x, y))

            @nnx.jit
            def evaluate(model, x, y):
                return (model(x).argmax(-1) == y).mean()

            @nnx.jit
            def predict(model, x):
                return model(x)

            weights = (model, optimizer)
        else:
            weights = (jnp.zeros((4, 3)),)

            def loss(w, x, y):
                return optax.softmax_cross_entropy_with_integer_labels(x @ w, y).mean()

            @jax.jit
            def update(w, *batch):
                x, y = (batch[0]["x"], batch[0]["y"]) if kind == "a dict" else batch
                return w - 0.1 * jax.grad(loss)(w, x, y)

            @jax.jit
            def evaluate(w, x, y):
                return ((x @ w).argmax(-1) == y).mean()

            @jax.jit
            def predict(w, x):
                return x @ w

        all_of_it = jnp.asarray(x[:16]), jnp.asarray(y[:16])
        for number in range(60):
            rows = np.random.default_rng(number if way == "another" else 0).choice(100, 16)
            batch = all_of_it if way == "all the data" else (x[rows], y[rows])
            given = ({"x": batch[0], "y": batch[1]},) if kind == "a dict" else batch
            returned = update(*weights, *given)
            if kind != "nnx":
                weights = (returned,)
            if number % 10 == 9:
                if way == "predicts a grid":
                    predict(weights[0], x[100:])
                else:
                    last = 110 if way == "fewer are evaluated" else 200
                    evaluate(weights[0], x[100:last], y[100:last])

    assert found == [one.condition for one in live.findings]


@pytest.mark.parametrize("passes_on", [True, False])
def test_a_state_of_an_optimizer_that_is_not_passed_on_is_found(passes_on, tmp_path):
    """Its count stays, and its moments begin anew at each step."""
    x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
    live = LiveWatch(["setup"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01))

        @jax.jit
        def train_step(w, state):
            gradients = jax.grad(lambda w: ((x @ w - x[:, 0]) ** 2).mean())(w)
            updates, new = optimizer.update(gradients, state)
            return optax.apply_updates(w, updates), new if passes_on else state

        w = jnp.zeros(4)
        state = optimizer.init(w)
        for _ in range(40):
            w, state = train_step(w, state)

    expected = [] if passes_on else ["same_state train_step"]
    assert expected == [one.condition for one in live.findings]


@pytest.mark.parametrize("donates", [False, True])
@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("each epoch", ["remade"]),
        ("each epoch, as a TrainState", ["remade"]),
        ("once", []),
        ("now and then", []),
        ("each task", []),
        ("new weights", []),
        ("averaged weights", []),
        ("no state", []),
    ],
)
def test_a_state_that_each_epoch_makes_anew_is_found(way, found, donates, tmp_path):
    """Where the weights are those that were trained before, and the state holds anything."""
    x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
    live = LiveWatch(["setup"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        warmed = optax.linear_schedule(0.0, 0.01, 30)
        optimizer = optax.sgd(0.1) if way == "no state" else optax.adam(warmed)

        @partial(jax.jit, donate_argnums=(0,) if donates else ())
        def train_step(both):
            w = both.params if way.endswith("TrainState") else both[0]
            gradients = jax.grad(lambda w: ((x @ w["w"] - x[:, 0]) ** 2).mean())(w)
            if way.endswith("TrainState"):
                return both.apply_gradients(grads=gradients)
            updates, state = optimizer.update(gradients, both[1])
            return optax.apply_updates(w, updates), state

        def of_flax(w):
            return TrainState.create(apply_fn=None, params=w, tx=optimizer)

        def of_optax(w):
            return w, optimizer.init(w)

        def train(both):
            for _ in range(8):
                both = train_step(both)
            return both

        new_state = of_flax if way.endswith("TrainState") else of_optax
        w = {"w": jnp.zeros(4)}
        if way == "each task":
            for _ in range(6):
                both = train(new_state(w))
                w = both[0]
        elif way in ("once", "now and then"):
            for epoch in range(12):
                if epoch == 0 or (way != "once" and epoch % 2 == 0):
                    both = new_state(w)
                both = train(both)
                w = both[0]
        else:
            for epoch in range(6):
                both = train(new_state(w))
                w = both.params if way.endswith("TrainState") else both[0]
                if way == "new weights":
                    w = {"w": jnp.full(4, float(epoch))}
                elif way == "averaged weights":
                    w = {"w": (w["w"] + jnp.ones(4)) / 2}

    assert found == [one.condition for one in live.findings]


class Normalized(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(8)(x))
        return nn.Dense(1)(x)


@pytest.mark.parametrize("way", ["passed on", "kept", "of the batch", "of a new model"])
def test_statistics_that_no_training_step_returned_are_found(way, tmp_path):
    """Where it evaluates with them; not where it normalizes by the batch there, too."""
    x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
    model = Normalized()
    variables = model.init(jax.random.key(0), x, train=False)
    live = LiveWatch(["training_mode"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        @jax.jit
        def train_step(params, stats):
            def loss_of(params):
                given = {"params": params, "batch_stats": stats}
                output, new = model.apply(given, x, train=True, mutable=["batch_stats"])
                return ((output[:, 0] - x[:, 0]) ** 2).mean(), new["batch_stats"]

            gradients, new = jax.grad(loss_of, has_aux=True)(params)
            params = jax.tree.map(lambda one, slope: one - 0.1 * slope, params, gradients)
            return params, new if way == "passed on" else stats

        @partial(jax.jit, static_argnames="train")
        def predict(params, stats, train=False):
            given = {"params": params, "batch_stats": stats}
            return model.apply(given, x, train=train, mutable=["batch_stats"])[0]

        params, stats = variables["params"], variables["batch_stats"]
        for _ in range(5):
            evaluated = variables["params"] if way == "of a new model" else params
            predict(evaluated, stats, train=way == "of the batch")
            params, stats = train_step(params, stats)
        evaluated = evaluated if way == "of a new model" else params
        predict(evaluated, stats, train=way == "of the batch")

    expected = ["unfilled_statistics"] if way == "kept" else []
    assert expected == [one.condition for one in live.findings]


class Settings:
    """What a script keeps its numbers in."""

    def __init__(self, rate):
        self.rate = rate


@pytest.mark.parametrize("way", ["attribute", "argument", "constant", "made anew"])
def test_a_number_that_compiled_code_keeps_is_named(way, tmp_path):
    """As the rate of a schedule that is read where the step is compiled, and not passed to it."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(32, 4)).astype("float32"))
    settings = Settings(0.01)
    live = LiveWatch(["setup"])
    with JaxHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):

        def loss(w):
            return jnp.mean((x @ w - x[:, 0]) ** 2)

        def makes_step():
            @jax.jit
            def step(w):
                return w - settings.rate * jax.grad(loss)(w)

            return step

        @jax.jit
        def step_by(w, rate):
            return w - rate * jax.grad(loss)(w)

        w, step = jnp.zeros(4), makes_step()
        for _ in range(40):
            settings.rate *= 1.0 if way == "constant" else 0.9
            step = makes_step() if way == "made anew" else step
            w = step_by(w, settings.rate) if way == "argument" else step(w)

    assert [one.condition for one in live.findings] == ["frozen_number"] * (way == "attribute")
    assert all("settings.rate" in one.message for one in live.findings)
