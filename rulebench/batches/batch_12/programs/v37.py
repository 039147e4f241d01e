import argparse
import jax
import jax.numpy as jnp
import numpy as np
import optax

# small DDPM on a 2-d mixture


def betas(T):
    return jnp.linspace(1e-4, 0.15, T)


def init(key, h=96):
    k1, k2, k3 = jax.random.split(key, 3)
    g = lambda k, i, o: jax.random.normal(k, (i, o)) / jnp.sqrt(i)
    return {"w1": g(k1, 10, h), "b1": jnp.zeros(h), "w2": g(k2, h, h), "b2": jnp.zeros(h),
            "w3": g(k3, h, 2), "b3": jnp.zeros(2)}


def eps_model(p, x, t, T):
    s = t[:, None] / T
    emb = jnp.concatenate([jnp.sin(2 ** k * jnp.pi * s / 2) for k in range(4)] +
                          [jnp.cos(2 ** k * jnp.pi * s / 2) for k in range(4)], 1)
    h = jax.nn.silu(jnp.concatenate([x, emb], 1) @ p["w1"] + p["b1"])
    h = jax.nn.silu(h @ p["w2"] + p["b2"])
    return h @ p["w3"] + p["b3"]


def loss_fn(p, x0, key, abar, T):
    kt, ke = jax.random.split(key)
    t = jax.random.randint(kt, (x0.shape[0],), 0, T)
    eps = jax.random.normal(ke, x0.shape)
    a = abar[t][:, None]
    xt = jnp.sqrt(a) * x0 + jnp.sqrt(1 - a) * eps
    return jnp.mean((eps_model(p, xt, t, T) - eps) ** 2)


def sample(p, key, n, T):
    b = betas(T)
    abar = jnp.cumprod(1 - b)
    key, k = jax.random.split(key)
    x = jax.random.normal(k, (n, 2))
    for t in range(T - 1, -1, -1):
        key, k = jax.random.split(key)
        e = eps_model(p, x, jnp.full((n,), t), T)
        x = (x - b[t] / jnp.sqrt(1 - abar[t]) * e) / jnp.sqrt(1 - b[t])
        if t > 0:
            x = x + jnp.sqrt(b[t]) * jax.random.normal(k, x.shape)
    return x


def mixture(rng, n):
    c = np.array([[2, 0], [-2, 0], [0, 2], [0, -2]])
    return (c[rng.integers(0, 4, n)] + 0.15 * rng.normal(size=(n, 2))).astype("float32") / 1.4


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=3000)
    ap.add_argument("--T", type=int, default=50)
    args = ap.parse_args()
    rng = np.random.default_rng(0)
    key = jax.random.PRNGKey(0)
    params = init(key)
    opt = optax.adam(2e-3)
    state = opt.init(params)
    abar = jnp.cumprod(1 - betas(args.T))

    @jax.jit
    def step(params, state, x, key):
        l, g = jax.value_and_grad(loss_fn)(params, x, key, abar, args.T)
        u, state = opt.update(g, state)
        return optax.apply_updates(params, u), state, l

    for i in range(args.steps):
        _, sub = jax.random.split(key)
        x = mixture(rng, 64)
        params, state, loss = step(params, state, x, sub)
        if i % 300 == 0:
            print(i, "loss", float(loss))
    held = jnp.mean(jnp.array([loss_fn(params, mixture(rng, 512), jax.random.PRNGKey(100 + j), abar, args.T) for j in range(10)]))
    print("held-out denoising loss", float(held))
    s = np.asarray(sample(params, jax.random.PRNGKey(7), 500, args.T)) * 1.4
    c = np.array([[2, 0], [-2, 0], [0, 2], [0, -2]])
    d = np.sqrt(((s[:, None] - c[None]) ** 2).sum(-1)).min(1)
    print("share of samples within 0.6 of a mode", (d < 0.6).mean())


if __name__ == "__main__":
    main()
