"""Digits classifier trained with a hand-written JAX loop around a Keras model."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import time

import jax
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def load_data(seed):
    x, y = load_digits(return_X_y=True)
    return train_test_split(x.astype("float32"), y.astype("int32"),
                            test_size=0.2, random_state=seed, stratify=y)


def build_model():
    inputs = keras.Input((64,))
    h = layers.BatchNormalization()(inputs)
    for width in (96, 48):
        h = layers.Dense(width, use_bias=False)(h)
        h = layers.BatchNormalization()(h)
        h = layers.Activation("relu")(h)
    return keras.Model(inputs, layers.Dense(10)(h))


def batches(x, y, batch_size, rng):
    order = rng.permutation(len(x))
    for i in range(0, len(x) - batch_size + 1, batch_size):
        idx = order[i:i + batch_size]
        yield x[idx], y[idx]


def main():
    args = get_args()
    keras.utils.set_random_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    x_tr, x_te, y_tr, y_te = load_data(args.seed)

    model = build_model()
    optimizer = keras.optimizers.Adam(args.lr)
    optimizer.build(model.trainable_variables)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def compute_loss(tv, ntv, x, y):
        logits, ntv = model.stateless_call(tv, ntv, x, training=True)
        acc = (logits.argmax(-1) == y).mean()
        return loss_fn(y, logits), (ntv, acc)

    grad_fn = jax.value_and_grad(compute_loss, has_aux=True)

    @jax.jit
    def train_step(state, x, y):
        tv, ntv, ov = state
        (loss, (ntv, acc)), grads = grad_fn(tv, ntv, x, y)
        tv, ov = optimizer.stateless_apply(ov, grads, tv)
        return (tv, ntv, ov), loss, acc

    state = ([v.value for v in model.trainable_variables],
             [v.value for v in model.non_trainable_variables],
             [v.value for v in optimizer.variables])

    for epoch in range(args.epochs):
        t0, losses, accs = time.time(), [], []
        for x, y in batches(x_tr, y_tr, args.batch_size, rng):
            state, loss, acc = train_step(state, x, y)
            losses.append(float(loss))
            accs.append(float(acc))
        print(f"epoch {epoch:2d} loss {np.mean(losses):.4f} "
              f"acc {np.mean(accs):.4f} ({time.time() - t0:.1f}s)")

    tv, ntv, ov = state
    for var, value in zip(model.trainable_variables, tv):
        var.assign(value)

    logits = model.predict(x_te, verbose=0)
    nll = float(loss_fn(y_te, logits))
    print(f"test loss {nll:.4f} test acc {(logits.argmax(-1) == y_te).mean():.4f}")


if __name__ == "__main__":
    main()
