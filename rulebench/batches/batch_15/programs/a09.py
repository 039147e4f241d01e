"""Reptile on sinusoid regression (amplitude and phase vary from task to task)."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import keras
from keras import layers


class SineTask:
    def __init__(self, rng):
        self.amp = rng.uniform(0.5, 3.0)
        self.phase = rng.uniform(0, np.pi)
        self.rng = rng

    def f(self, x):
        return self.amp * np.sin(x + self.phase)

    def sample(self, n):
        x = self.rng.uniform(-4, 4, (n, 1)).astype("float32")
        return x, self.f(x).astype("float32")


def build():
    return keras.Sequential([
        layers.Input((1,)),
        layers.Dense(64, activation="tanh"),
        layers.Dense(64, activation="tanh"),
        layers.Dense(1),
    ])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--meta-steps", type=int, default=4000)
    ap.add_argument("--inner-steps", type=int, default=10)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--meta-lr", type=float, default=0.5)
    ap.add_argument("--shots", type=int, default=10)
    args = ap.parse_args()

    keras.utils.set_random_seed(12)
    rng = np.random.default_rng(12)
    model = build()

    def mse(params, x, y):
        out, _ = model.stateless_call(params, [], x)
        return jnp.mean((out - y) ** 2)

    @partial(jax.jit, static_argnums=3)
    def adapt(params, xs, ys, steps):
        for k in range(steps):
            g = jax.grad(mse)(params, xs[k % len(xs)], ys[k % len(ys)])
            params = [p - args.inner_lr * gi for p, gi in zip(params, g)]
        return params, mse(params, xs[0], ys[0])

    @jax.jit
    def outer(params, adapted, eps):
        return [p + eps * (a - p) for p, a in zip(params, adapted)]

    def meta_test(params, n_tasks=60):
        test_rng, before, after = np.random.default_rng(5), [], []
        for _ in range(n_tasks):
            task = SineTask(test_rng)
            x, y = task.sample(args.shots)
            xq = np.linspace(-4, 4, 100, dtype="float32")[:, None]
            yq = task.f(xq)
            fast, _ = adapt(params, x[None], y[None], 32)
            before.append(float(mse(params, xq, yq)))
            after.append(float(mse(fast, xq, yq)))
        return np.mean(before), np.mean(after)

    params = [v.value for v in model.trainable_variables]
    print("untrained: before %.3f after %.3f" % meta_test(params))
    running = []
    for it in range(args.meta_steps):
        task = SineTask(rng)
        data = [task.sample(args.shots) for _ in range(args.inner_steps)]
        xs, ys = np.stack([d[0] for d in data]), np.stack([d[1] for d in data])
        adapted, loss = adapt(params, xs, ys, args.inner_steps)
        params = outer(params, adapted, args.meta_lr * (1 - it / args.meta_steps))
        running.append(float(loss))
        if it % 500 == 499:
            print(f"iter {it + 1} inner loss {np.mean(running[-500:]):.4f} "
                  "test before %.3f after %.3f" % meta_test(params))
    for v, p in zip(model.trainable_variables, params):
        v.assign(p)


if __name__ == "__main__":
    main()
