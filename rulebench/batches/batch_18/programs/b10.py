"""MLP with input noise and random mini-batches in JAX. Nonlinear sensor calibration, 6 inputs -> 1 output."""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax


def make_data(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 6)).astype(np.float32)
    y = np.sin(x[:, 0] * 1.5) + 0.5 * x[:, 1] * x[:, 2] - 0.3 * x[:, 3] ** 2 + np.abs(x[:, 4])
    y = y + 0.1 * rng.normal(size=n)
    return x, ((y - 0.6) / 1.2).astype(np.float32)


def init_layer(key, n_in, n_out):
    return {"w": jax.random.normal(key, (n_in, n_out)) * np.sqrt(2.0 / n_in), "b": jnp.zeros(n_out)}


def init_mlp(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [init_layer(k, a, b) for k, a, b in zip(keys, sizes[:-1], sizes[1:])]


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def sample_batch(step_key, x, y, size):
    k_idx, k_noise = jax.random.split(step_key)
    idx = jax.random.randint(k_idx, (size,), 0, x.shape[0])
    xb = x[idx] + 0.02 * jax.random.normal(k_noise, (size, x.shape[1]))
    return xb, y[idx]


def mse(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


def make_train_step(opt, batch_size):
    @jax.jit
    def train_step(params, opt_state, step_key, x, y):
        xb, yb = sample_batch(step_key, x, y, batch_size)
        loss, grads = jax.value_and_grad(mse)(params, xb, yb)
        updates, opt_state = opt.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    return train_step


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=3000)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()

    x_tr, y_tr = map(jnp.asarray, make_data(4000, 0))
    x_va, y_va = map(jnp.asarray, make_data(1000, 1))

    key = jax.random.PRNGKey(0)
    key, init_key = jax.random.split(key)
    params = init_mlp(init_key, [6, 64, 64, 1])
    schedule = optax.cosine_decay_schedule(args.lr, args.steps)
    opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))
    opt_state = opt.init(params)
    train_step = make_train_step(opt, args.batch_size)
    evaluate = jax.jit(mse)

    for step in range(args.steps):
        params, opt_state, loss = train_step(params, opt_state, key, x_tr, y_tr)
        if (step + 1) % 300 == 0:
            val = evaluate(params, x_va, y_va)
            print(f"step {step + 1:5d}  batch loss {float(loss):.5f}  val mse {float(val):.4f}")


if __name__ == "__main__":
    main()
