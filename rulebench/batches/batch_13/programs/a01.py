"""Heteroscedastic regression: the network gives a mean and a spread.

Custom loop with the stateless Keras API on jax.
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import keras
from keras import layers


def make_data(n, rng):
    x = rng.uniform(-3, 3, (n, 1))
    sd = 0.02 + 0.06 * np.abs(x[:, 0])
    y = 0.5 * np.sin(2 * x[:, 0]) + sd * rng.normal(size=n)
    return x.astype("float32"), y.astype("float32"), sd


def build():
    inp = keras.Input((1,))
    h = layers.Dense(48, activation="tanh")(inp)
    h = layers.Dense(48, activation="tanh")(h)
    mean = layers.Dense(1)(h)
    log_sd = layers.Dense(1)(h)
    return keras.Model(inp, layers.Concatenate()([mean, log_sd]))


def batches(x, y, size, rng):
    order = rng.permutation(len(x))
    for k in range(0, len(x) - size + 1, size):
        i = order[k:k + size]
        yield x[i], y[i]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=150)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    keras.utils.set_random_seed(6)
    rng = np.random.default_rng(6)
    x_tr, y_tr, _ = make_data(3000, rng)
    x_te, y_te, sd_te = make_data(1000, rng)

    model = build()
    steps = args.epochs * (len(x_tr) // args.batch)
    opt = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(args.lr, steps), clipnorm=5.0)
    opt.build(model.trainable_variables)

    def nll(tv, ntv, x, y):
        out, ntv = model.stateless_call(tv, ntv, x, training=True)
        mean, log_sd = out[:, 0], jnp.clip(out[:, 1], -7.0, 3.0)
        z = (y - mean) * jnp.exp(-log_sd)
        return jnp.mean(0.5 * z ** 2 + log_sd + 0.5 * jnp.log(2 * jnp.pi)), ntv

    grad_fn = jax.value_and_grad(nll, has_aux=True)

    @jax.jit
    def step(state, x, y):
        tv, ntv, ov = state
        (loss, ntv), grads = grad_fn(tv, ntv, x, y)
        tv, ov = opt.stateless_apply(ov, grads, tv)
        return loss, (tv, ntv, ov)

    state = ([v.value for v in model.trainable_variables],
             [v.value for v in model.non_trainable_variables],
             [v.value for v in opt.variables])
    for epoch in range(args.epochs):
        losses = []
        for xb, yb in batches(x_tr, y_tr, args.batch, rng):
            loss, state = step(state, xb, yb)
            losses.append(loss)
        if epoch % 10 == 0 or epoch == args.epochs - 1:
            print(f"epoch {epoch:3d}  nll {float(np.mean(losses)):+.4f}")

    for var, val in zip(model.trainable_variables, state[0]):
        var.assign(val)
    out = np.asarray(model.predict(x_te, verbose=0))
    sd = np.exp(out[:, 1])
    inside = np.abs(y_te - out[:, 0]) < 1.645 * sd
    print("rmse of the mean against the true curve %.4f"
          % np.sqrt(np.mean((out[:, 0] - 0.5 * np.sin(2 * x_te[:, 0])) ** 2)))
    print("correlation of predicted and true spread %.3f" % np.corrcoef(sd, sd_te)[0, 1])
    print("90%% interval covers %.3f" % inside.mean())


if __name__ == "__main__":
    main()
