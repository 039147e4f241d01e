"""Trains a multilayer perceptron in plain JAX, with optax and a jitted step."""

import argparse
import itertools
import time

import jax
import jax.numpy as jnp
import optax

SIZES = [64, 256, 256, 10]


def init_params(key):
    params = []
    for n_in, n_out in itertools.pairwise(SIZES):
        key, subkey = jax.random.split(key)
        weights = jax.random.normal(subkey, (n_in, n_out)) * jnp.sqrt(2.0 / n_in)
        params.append({"w": weights, "b": jnp.zeros(n_out)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    logits = forward(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


optimizer = optax.adam(1e-3)


@jax.jit
def train_step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000, help="optimizer steps")
    args = parser.parse_args()

    key = jax.random.PRNGKey(0)
    key, k_x, k_teacher, k_params = jax.random.split(key, 4)
    x_train = jax.random.normal(k_x, (8192, SIZES[0]))
    y_train = jnp.argmax(x_train @ jax.random.normal(k_teacher, (SIZES[0], SIZES[-1])), axis=1)

    params = init_params(k_params)
    opt_state = optimizer.init(params)
    batch_size = 128
    batches = len(x_train) // batch_size

    warmup = max(1, min(20, args.steps // 10))
    log_every = max(1, args.steps // 10)
    start = time.perf_counter()
    for step in range(args.steps):
        if step == warmup:
            jax.block_until_ready(params)
            start = time.perf_counter()
        first = step % batches * batch_size
        x, y = x_train[first : first + batch_size], y_train[first : first + batch_size]
        params, opt_state, loss = train_step(params, opt_state, x, y)
        if (step + 1) % log_every == 0:
            print(f"step {step + 1}, loss {loss:.4f}")

    jax.block_until_ready(params)
    elapsed = time.perf_counter() - start
    accuracy = jnp.mean(jnp.argmax(forward(params, x_train), axis=1) == y_train)
    print(f"train accuracy {accuracy:.3f}")
    print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={float(loss)!r}")


if __name__ == "__main__":
    main()
