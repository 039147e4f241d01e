"""Denoising diffusion on a 2-d ring, plain JAX + optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS = 50
betas = jnp.linspace(1e-3, 0.15, STEPS)
alphas = 1.0 - betas
abar = jnp.cumprod(alphas)


def ring(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0, 2 * np.pi, n)
    r = 1.5 + 0.05 * rng.standard_normal(n)
    return jnp.asarray(np.stack([r * np.cos(a), r * np.sin(a)], 1), dtype=jnp.float32)


def init(key, sizes):
    params = []
    for k, (i, o) in zip(jax.random.split(key, len(sizes) - 1), zip(sizes[:-1], sizes[1:])):
        params.append({"w": jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), "b": jnp.zeros(o)})
    return params


def net(params, x, t):
    tt = t[:, None] / STEPS
    freq = 2.0 ** jnp.arange(4) * jnp.pi
    h = jnp.concatenate([x, jnp.sin(tt * freq), jnp.cos(tt * freq)], axis=1)
    for layer in params[:-1]:
        h = jax.nn.silu(h @ layer["w"] + layer["b"])
    return h @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, key, x0):
    kt, kn = jax.random.split(key)
    t = jax.random.randint(kt, (x0.shape[0],), 0, STEPS)
    noise = jax.random.normal(kn, x0.shape)
    a = abar[t][:, None]
    xt = jnp.sqrt(a) * x0 + jnp.sqrt(1 - a) * noise
    return jnp.mean((net(params, xt, t.astype(jnp.float32)) - noise) ** 2)


def sample(params, key, n):
    x = jax.random.normal(key, (n, 2))
    for t in reversed(range(STEPS)):
        key, sub = jax.random.split(key)
        eps = net(params, x, jnp.full((n,), float(t)))
        x = (x - betas[t] / jnp.sqrt(1 - abar[t]) * eps) / jnp.sqrt(alphas[t])
        if t > 0:
            x = x + jnp.sqrt(betas[t]) * jax.random.normal(sub, x.shape)
    return x


def main():
    data = ring(4096, 0)
    held = ring(2048, 1)
    key = jax.random.PRNGKey(0)
    key, init_key, train_key = jax.random.split(key, 3)
    params = init(init_key, [10, 96, 96, 2])
    tx = optax.adam(2e-3)
    state = tx.init(params)

    @jax.jit
    def step(params, state, key, x):
        loss, g = jax.value_and_grad(loss_fn)(params, key, x)
        up, state = tx.update(g, state)
        return optax.apply_updates(params, up), state, loss

    rng = np.random.default_rng(0)
    losses = []
    for it in range(3000):
        xb = data[rng.integers(0, len(data), 128)]
        params, state, loss = step(params, state, train_key, xb)
        losses.append(float(loss))
        if (it + 1) % 500 == 0:
            print(f"step {it + 1} loss {np.mean(losses[-100:]):.4f}")
    print("held-out loss", float(loss_fn(params, jax.random.PRNGKey(99), held)))
    s = sample(params, jax.random.PRNGKey(5), 1000)
    rad = jnp.linalg.norm(s, axis=1)
    print(f"sample radius mean {float(rad.mean()):.3f} std {float(rad.std()):.3f} (data 1.5, 0.05)")


if __name__ == "__main__":
    main()
