"""Small JAX MLP on a noisy two-spiral problem."""
import argparse
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np
import optax


def spirals(n, seed):
    rng = np.random.default_rng(seed)
    r = np.sqrt(rng.uniform(0.05, 1, n)) * 2.6 * np.pi / 2
    y = rng.integers(0, 2, n)
    ang = r + np.pi * y
    x = np.stack([r * np.cos(ang), r * np.sin(ang)], 1) / 3 + rng.normal(scale=0.06, size=(n, 2))
    return jnp.asarray(x, jnp.float32), jnp.asarray(y)


def init_params(key, sizes):
    params = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        params.append({"w": jax.random.normal(sub, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    logits = forward(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@jax.jit
def accuracy(params, x, y):
    return (forward(params, x).argmax(1) == y).mean()


def sample_batch(key, x, y, batch_size):
    idx = jax.random.choice(key, x.shape[0], (batch_size,), replace=False)
    return x[idx], y[idx]


@partial(jax.jit, static_argnums=0)
def update(tx, params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def train(args):
    xtr, ytr = spirals(2000, 0)
    xte, yte = spirals(1000, 1)
    key = jax.random.PRNGKey(args.seed)
    key, init_key, data_key = jax.random.split(key, 3)
    params = init_params(init_key, [2, 64, 64, 2])
    tx = optax.adam(args.lr)
    opt_state = tx.init(params)
    running = []
    for step in range(1, args.steps + 1):
        xb, yb = sample_batch(data_key, xtr, ytr, args.batch_size)
        params, opt_state, loss = update(tx, params, opt_state, xb, yb)
        running.append(float(loss))
        if step % 200 == 0:
            print(f"step {step} loss {np.mean(running[-200:]):.4f} "
                  f"train acc {accuracy(params, xtr, ytr):.3f} test acc {accuracy(params, xte, yte):.3f}")
    return params


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1200)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--seed", type=int, default=0)
    train(ap.parse_args())
