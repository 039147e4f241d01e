"""Denoising diffusion on a 2-D spiral with flax and optax."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

T, BATCH, STEPS, LR = 60, 64, 4000, 2e-3


def spiral(n, seed):
    r = np.random.default_rng(seed)
    a = np.sqrt(r.uniform(0.05, 1, n)) * 3 * np.pi
    x = np.stack([a * np.cos(a), a * np.sin(a)], 1) / 6 + r.normal(0, 0.04, (n, 2))
    return x.astype(np.float32)


betas = jnp.linspace(1e-4, 0.15, T)
alphas = 1 - betas
abar = jnp.cumprod(alphas)


class Denoiser(nn.Module):
    width: int = 96

    @nn.compact
    def __call__(self, x, t):
        f = jnp.exp(jnp.linspace(0, -4, 8)) * t[:, None]
        h = jnp.concatenate([x, jnp.sin(f), jnp.cos(f)], -1)
        h = nn.silu(nn.Dense(self.width)(h))
        for _ in range(2):
            h = h + nn.silu(nn.Dense(self.width)(h))
        return nn.Dense(2)(h)


model = Denoiser()


def loss_fn(params, x, key):
    kt, ke = jax.random.split(key)
    t = jax.random.randint(kt, (len(x),), 0, T)
    eps = jax.random.normal(ke, x.shape)
    xt = jnp.sqrt(abar[t])[:, None] * x + jnp.sqrt(1 - abar[t])[:, None] * eps
    return jnp.mean((model.apply(params, xt, t.astype(jnp.float32)) - eps) ** 2)


def make_step(tx):
    @jax.jit
    def step(params, opt_state, x, key):
        loss, g = jax.value_and_grad(loss_fn)(params, x, key)
        upd, opt_state = tx.update(g, opt_state, params)
        return optax.apply_updates(params, upd), opt_state, loss
    return step


@functools.partial(jax.jit, static_argnums=2)
def sample(params, key, n):
    def body(i, carry):
        x, key = carry
        t = T - 1 - i
        key, k = jax.random.split(key)
        eps = model.apply(params, x, jnp.full((n,), t, jnp.float32))
        mean = (x - betas[t] / jnp.sqrt(1 - abar[t]) * eps) / jnp.sqrt(alphas[t])
        return mean + jnp.where(t > 0, jnp.sqrt(betas[t]), 0.0) * jax.random.normal(k, x.shape), key
    x0 = jax.random.normal(key, (n, 2))
    return jax.lax.fori_loop(0, T, body, (x0, key))[0]


def energy_distance(a, b):
    d = lambda u, v: jnp.sqrt(((u[:, None] - v[None]) ** 2).sum(-1) + 1e-12).mean()
    return float(2 * d(a, b) - d(a, a) - d(b, b))


def main():
    data, held = spiral(4000, 0), spiral(800, 1)
    rng = np.random.default_rng(0)
    key = jax.random.PRNGKey(0)
    key, init_key = jax.random.split(key)
    params = model.init(init_key, data[:2], jnp.zeros(2))
    tx = optax.adam(optax.cosine_decay_schedule(LR, STEPS))
    opt_state, step = tx.init(params), make_step(tx)
    key, step_key = jax.random.split(key)
    running = []
    for i in range(1, STEPS + 1):
        x = data[rng.integers(0, len(data), BATCH)]
        params, opt_state, loss = step(params, opt_state, x, step_key)
        running.append(float(loss))
        if i % 800 == 0:
            e = energy_distance(sample(params, jax.random.PRNGKey(7), 800), jnp.asarray(held))
            print(f"step {i} loss {np.mean(running[-200:]):.4f} energy distance {e:.4f}")


if __name__ == "__main__":
    main()
