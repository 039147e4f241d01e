"""REINFORCE in a 5x5 grid with walls of wind, everything jitted."""
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

SIZE, T, BATCH, GAMMA = 5, 20, 64, 0.97
MOVES = jnp.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
GOAL = jnp.array([4, 4])


class Policy(nn.Module):
    @nn.compact
    def __call__(self, pos):
        x = jax.nn.one_hot(pos[..., 0] * SIZE + pos[..., 1], SIZE * SIZE)
        x = nn.tanh(nn.Dense(32)(x))
        return nn.Dense(4)(x)


net = Policy()


def env_step(pos, a, key):
    wind = jnp.where(jax.random.uniform(key) < 0.1, jnp.array([-1, 0]), jnp.array([0, 0]))
    return jnp.clip(pos + MOVES[a] + wind, 0, SIZE - 1)


def rollout(params, key):
    def step(carry, k):
        pos, done = carry
        ka, kw = jax.random.split(k)
        a = jax.random.categorical(ka, net.apply(params, pos))
        new = env_step(pos, a, kw)
        reached = jnp.all(new == GOAL)
        reward = jnp.where(done, 0.0, jnp.where(reached, 1.0, -0.02))
        return (jnp.where(done, pos, new), done | reached), (pos, a, reward, ~done)
    ks, kr = jax.random.split(key)
    start = jax.random.randint(ks, (2,), 0, 3)
    return jax.lax.scan(step, (start, jnp.array(False)), jax.random.split(kr, T))[1]


def surrogate(params, pos, act, adv, alive):
    logits = net.apply(params, pos)
    logp = jnp.take_along_axis(jax.nn.log_softmax(logits), act[..., None], -1)[..., 0]
    ent = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1)
    return -((logp * adv + 0.003 * ent) * alive).sum() / alive.sum()


tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(5e-3))


@jax.jit
def update(params, opt_state, key):
    pos, act, rew, alive = jax.vmap(rollout, (None, 0))(params, jax.random.split(key, BATCH))
    ret = jax.lax.scan(lambda g, r: ((r + GAMMA * g,) * 2), jnp.zeros(BATCH), rew.T, reverse=True)[1].T
    mean = (ret * alive).sum() / alive.sum()
    std = jnp.sqrt((((ret - mean) ** 2) * alive).sum() / alive.sum()) + 1e-6
    adv = (ret - mean) / std
    loss, grads = jax.value_and_grad(surrogate)(params, pos, act, adv, alive)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss, rew.sum(1).mean()


key = jax.random.PRNGKey(14)
key, k = jax.random.split(key)
params = net.init(k, jnp.zeros(2, dtype=jnp.int32))
opt_state = tx.init(params)
for i in range(500):
    key, k = jax.random.split(key)
    params, opt_state, loss, ret = update(params, opt_state, k)
    if i % 75 == 0:
        print(f"update {i:4d}  surrogate {loss:+.4f}  return {ret:+.3f}")

key, k = jax.random.split(key)
_, _, rew, _ = jax.vmap(rollout, (None, 0))(params, jax.random.split(k, 2000))
print("mean return over 2000 fresh episodes:", round(float(rew.sum(1).mean()), 4))
