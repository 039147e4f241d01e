"""Small denoising diffusion model on 2-D point clouds, pure JAX + optax."""
import argparse
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import make_moons

T = 50


def schedule():
    betas = jnp.linspace(1e-3, 0.15, T)
    return betas, jnp.cumprod(1 - betas)


def init_mlp(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), jnp.zeros(o)) for k, i, o in zip(keys, sizes[:-1], sizes[1:])]


def predict_noise(params, x, t):
    s = t[:, None] / T
    h = jnp.concatenate([x, s, jnp.sin(6.28 * s), jnp.cos(6.28 * s)], 1)
    for w, b in params[:-1]:
        h = jax.nn.silu(h @ w + b)
    w, b = params[-1]
    return h @ w + b


def diffusion_loss(params, key, data, batch_size, abar):
    k1, k2, k3 = jax.random.split(key, 3)
    idx = jax.random.randint(k1, (batch_size,), 0, data.shape[0])
    t = jax.random.randint(k2, (batch_size,), 0, T)
    eps = jax.random.normal(k3, (batch_size, 2))
    a = abar[t][:, None]
    xt = jnp.sqrt(a) * data[idx] + jnp.sqrt(1 - a) * eps
    return jnp.mean((predict_noise(params, xt, t) - eps) ** 2)


def sample(params, key, n, betas, abar):
    key, k = jax.random.split(key)
    x = jax.random.normal(k, (n, 2))
    for t in reversed(range(T)):
        eps = predict_noise(params, x, jnp.full((n,), t))
        x = (x - betas[t] / jnp.sqrt(1 - abar[t]) * eps) / jnp.sqrt(1 - betas[t])
        if t > 0:
            key, k = jax.random.split(key)
            x = x + jnp.sqrt(betas[t]) * jax.random.normal(k, x.shape)
    return x


def nearest(a, b):
    return float(np.sqrt(((np.asarray(a)[:, None] - np.asarray(b)[None]) ** 2).sum(-1)).min(1).mean())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    data, _ = make_moons(1500, noise=0.05, random_state=0)
    data = jnp.array((data - data.mean(0)) / data.std(0))
    train, held = data[:1200], data[1200:]
    betas, abar = schedule()
    key = jax.random.PRNGKey(args.seed)
    key, k_init, k_eval, k_sample = jax.random.split(key, 4)
    params = init_mlp(k_init, [5, 96, 96, 2])
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(args.lr, args.steps)))
    opt_state = tx.init(params)

    @jax.jit
    def update(params, opt_state, key):
        loss, g = jax.value_and_grad(diffusion_loss)(params, key, train, args.batch, abar)
        up, opt_state = tx.update(g, opt_state, params)
        return optax.apply_updates(params, up), opt_state, loss

    for i in range(args.steps):
        _, sub = jax.random.split(key)
        params, opt_state, loss = update(params, opt_state, sub)
        if i % 500 == 0 or i == args.steps - 1:
            val = diffusion_loss(params, k_eval, held, 2000, abar)
            print(f"step {i} loss {float(loss):.4f} held-out {float(val):.4f}")
    pts = sample(params, k_sample, 400, betas, abar)
    print("distance sample->data", round(nearest(pts, data), 4), "data->sample", round(nearest(data, pts), 4))


if __name__ == "__main__":
    main()
