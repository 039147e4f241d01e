"""Ends of episodes that a jitted function is given, and does not read."""

from __future__ import annotations

import pytest

from stepwatch.hooks.jax import JaxHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
SCRIPT = """
import jax
import jax.numpy as jnp
import numpy as np
import optax

GAMMA = 0.9
rng = np.random.default_rng(0)


class Env:
    def step(self, action):
        return rng.normal(size=3), 1.0, FLAG, rng.random() < 0.05


def values(params, x):
    return jnp.tanh(x @ params["w1"]) @ params["w2"]


@jax.jit
def update(params, batch):
    obs, act, rew, nxt, done = batch

    def loss_of(params):
        q = jnp.take_along_axis(values(params, obs), act[:, None], 1)[:, 0]
        target = rew + GAMMA * values(params, nxt).max(1)
        return optax.squared_error(q, jax.lax.stop_gradient(target)).mean()

    loss, gradients = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), loss


params = {"w1": 0.1 * rng.normal(size=(3, 8)), "w2": 0.1 * rng.normal(size=(8, 2))}
env, memory, obs = Env(), [], np.zeros(3)
for number in range(60):
    action = int(rng.integers(2))
    nxt, reward, done, cut = env.step(action)
    memory.append((obs, action, reward, nxt, float(done)))
    obs = nxt
    if number >= 40:
        batch = tuple(np.asarray(part) for part in zip(*memory[-32:]))
        params, loss = update(params, batch)
"""


@pytest.mark.parametrize(
    ("flag", "target", "found"),
    [
        ("rng.random() < 0.2", "rew + GAMMA *", ["past_the_end"]),
        ("rng.random() < 0.2", "rew + (1 - done) * GAMMA *", []),
        ("False", "rew + GAMMA *", []),  # nothing ends, as a pendulum
    ],
)
def test_targets_that_go_on_past_the_end_are_found(tmp_path, flag, target, found):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.replace("FLAG", flag).replace("rew + GAMMA *", target))
    with JaxHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        exec(compile(file.read_text(), file, "exec"), {"__name__": "script"})

    assert found == [one.condition for one in watch(Trial(tmp_path / "run"), ["rl_update"])]
