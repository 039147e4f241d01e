"""REINFORCE on a vectorised cart-pole written in JAX."""
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

NUM_ENVS = 16
HORIZON = 200
GAMMA = 0.98
ITERS = 150


class Policy(nn.Module):
    @nn.compact
    def __call__(self, obs):
        h = nn.tanh(nn.Dense(32)(obs))
        return nn.Dense(2, kernel_init=nn.initializers.normal(0.01))(h)


def env_step(s, action):
    x, x_dot, th, th_dot = s[..., 0], s[..., 1], s[..., 2], s[..., 3]
    force = jnp.where(action == 1, 10.0, -10.0)
    cos, sin = jnp.cos(th), jnp.sin(th)
    tmp = (force + 0.05 * th_dot**2 * sin) / 1.1
    th_acc = (9.8 * sin - cos * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    x_acc = tmp - 0.05 * th_acc * cos / 1.1
    s = jnp.stack(
        [x + 0.02 * x_dot, x_dot + 0.02 * x_acc, th + 0.02 * th_dot, th_dot + 0.02 * th_acc], -1
    )
    done = (jnp.abs(s[..., 0]) > 2.4) | (jnp.abs(s[..., 2]) > 0.2095)
    return s, done


policy = Policy()


def rollout(params, key):
    k0, key = jax.random.split(key)
    s0 = jax.random.uniform(k0, (NUM_ENVS, 4), minval=-0.05, maxval=0.05)

    def body(carry, k):
        s, alive = carry
        a = jax.random.categorical(k, policy.apply(params, s))
        nxt, done = env_step(s, a)
        out = (s, a, alive)
        return (nxt, alive * (1.0 - done)), out

    _, (obs, act, alive) = jax.lax.scan(
        body, (s0, jnp.ones(NUM_ENVS)), jax.random.split(key, HORIZON)
    )
    return obs, act, alive  # each (T, N, ...)


def discounted_returns(rewards):
    def body(acc, r):
        acc = r + GAMMA * acc
        return acc, acc

    _, g = jax.lax.scan(body, jnp.zeros(rewards.shape[1]), rewards)
    return g


def loss_fn(params, obs, act, alive):
    rewards = alive
    g = discounted_returns(rewards)
    mean = (g * alive).sum() / alive.sum()
    std = jnp.sqrt((((g - mean) ** 2) * alive).sum() / alive.sum() + 1e-6)
    adv = (g - mean) / std
    logp = jax.nn.log_softmax(policy.apply(params, obs))
    logp = jnp.take_along_axis(logp, act[..., None], -1)[..., 0]
    return -(logp * adv * alive).sum() / alive.sum()


tx = optax.adam(1e-2)
key = jax.random.key(4)
key, init_key = jax.random.split(key)
params = policy.init(init_key, jnp.zeros((1, 4)))
opt_state = tx.init(params)


@jax.jit
def iteration(params, opt_state, key):
    obs, act, alive = rollout(params, key)
    loss, grads = jax.value_and_grad(loss_fn)(params, obs, act, alive)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss, alive.sum(0).mean()


history = []
for it in range(ITERS):
    key, sub = jax.random.split(key)
    params, opt_state, loss, length = iteration(params, opt_state, sub)
    history.append(float(length))
    if (it + 1) % 10 == 0:
        recent = sum(history[-10:]) / 10
        print(f"iter {it + 1:4d}  loss {float(loss):+.4f}  mean episode length {recent:6.1f}")

print("best 10-iteration average:",
      max(sum(history[i:i + 10]) / 10 for i in range(len(history) - 9)))
