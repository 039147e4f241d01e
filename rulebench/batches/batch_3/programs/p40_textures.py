import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import argparse
import numpy as np
import keras
from keras import layers

SEED = 5


def make_images(n, rng, size=16):
    """4 kinds of texture: horizontal / vertical / diagonal waves and checkerboard."""
    yy, xx = np.mgrid[0:size, 0:size]
    X = np.empty((n, size, size, 1), "float32")
    y = rng.integers(0, 4, n)
    for i, c in enumerate(y):
        f, ph = rng.uniform(0.6, 1.2), rng.uniform(0, 2 * np.pi)
        u = [yy, xx, (xx + yy) / 1.4, None][c]
        im = np.sin(f * u + ph) if u is not None else np.sin(f * xx + ph) * np.sin(f * yy + ph) * 1.4
        X[i, ..., 0] = im + rng.normal(0, 1.0, (size, size))
    return X, y


def build(lr):
    m = keras.Sequential([
        layers.Input((16, 16, 1)),
        layers.Conv2D(16, 3, activation="relu", padding="same"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu", padding="same"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(4),
    ])
    m.compile(keras.optimizers.Adam(lr), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
    return m


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    a = ap.parse_args()
    keras.utils.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    xtr, ytr = make_images(1600, rng)
    xte, yte = make_images(600, rng)
    steps_per_epoch = len(xtr) // a.batch
    print("steps per epoch", steps_per_epoch)
    schedule = keras.optimizers.schedules.CosineDecay(a.lr, decay_steps=a.epochs)
    model = build(schedule)
    model.fit(xtr, ytr, batch_size=a.batch, epochs=a.epochs, validation_data=(xte, yte), verbose=2)
    print("final:", model.evaluate(xte, yte, verbose=0))


if __name__ == "__main__":
    main()
