"""Fits a small Keras convolutional network to synthetic digits; KERAS_BACKEND as ever."""

import argparse
import os
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
from keras import layers


def synthetic_digits(count, seed):
    rng = np.random.default_rng(seed)
    prototypes = np.kron(np.random.default_rng(0).random((10, 7, 7)), np.ones((4, 4)))
    labels = rng.integers(0, 10, count)
    images = prototypes[labels] + 0.3 * rng.normal(size=(count, 28, 28))
    return images[..., None].astype("float32"), keras.utils.to_categorical(labels, 10)


def build_model():
    return keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(16, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200, help="optimizer steps")
    args = parser.parse_args()

    keras.utils.set_random_seed(1)
    batch_size = 64

    # a first fit warms up; the second one is timed, in epochs of equal length
    warmup = max(1, min(20, args.steps // 10))
    rest = args.steps - warmup
    epochs = next((n for n in range(5, 50) if rest % n == 0), 1)
    x_first, y_first = synthetic_digits(warmup * batch_size, seed=1)
    x_train, y_train = synthetic_digits(rest // epochs * batch_size, seed=2)

    model = build_model()
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    model.fit(x_first, y_first, batch_size=batch_size, epochs=1, verbose=2)

    start = time.perf_counter()
    history = model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, verbose=2)
    elapsed = time.perf_counter() - start

    loss = float(history.history["loss"][-1])
    print(f"steps_per_s={rest / elapsed:.3f} loss={loss!r}")


if __name__ == "__main__":
    main()
