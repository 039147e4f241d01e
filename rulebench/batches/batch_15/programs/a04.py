"""Shape classifier (circle / square / triangle / cross) with an lr schedule."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import keras
from keras import layers

SIZE = 20


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--decay-every", type=int, default=5, help="epochs between lr drops")
    p.add_argument("--decay-rate", type=float, default=0.3)
    p.add_argument("--n", type=int, default=1800)
    p.add_argument("--seed", type=int, default=13)
    return p.parse_args()


def draw(kind, rng):
    img = np.zeros((SIZE, SIZE), "float32")
    r = rng.integers(4, 7)
    cy, cx = rng.integers(r, SIZE - r, 2)
    yy, xx = np.mgrid[:SIZE, :SIZE]
    dy, dx = yy - cy, xx - cx
    if kind == 0:
        img[dy ** 2 + dx ** 2 <= r ** 2] = 1
    elif kind == 1:
        img[(abs(dy) < r) & (abs(dx) < r)] = 1
    elif kind == 2:
        img[(dy < r) & (dy > -r) & (abs(dx) <= (dy + r) / 2)] = 1
    else:
        img[((abs(dy) < 2) & (abs(dx) < r)) | ((abs(dx) < 2) & (abs(dy) < r))] = 1
    return img * rng.uniform(0.5, 1.0) + rng.normal(0, 0.25, img.shape)


def make_data(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    x = np.stack([draw(k, rng) for k in y])[..., None].astype("float32")
    return x, y


def build():
    return keras.Sequential([
        layers.Input((SIZE, SIZE, 1)),
        layers.Conv2D(12, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(24, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(4, activation="softmax"),
    ])


def main():
    args = parse_args()
    keras.utils.set_random_seed(args.seed)
    x, y = make_data(args.n, args.seed)
    n_val = args.n // 5
    x_va, y_va, x_tr, y_tr = x[:n_val], y[:n_val], x[n_val:], y[n_val:]

    schedule = keras.optimizers.schedules.ExponentialDecay(
        initial_learning_rate=args.lr,
        decay_steps=args.decay_every,
        decay_rate=args.decay_rate,
        staircase=True,
    )
    model = build()
    model.compile(optimizer=keras.optimizers.Adam(schedule),
                  loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_tr, y_tr, validation_data=(x_va, y_va), epochs=args.epochs,
              batch_size=args.batch_size, verbose=2)
    loss, acc = model.evaluate(x_va, y_va, verbose=0)
    print(f"val loss {loss:.4f}  val acc {acc:.4f}")


if __name__ == "__main__":
    main()
