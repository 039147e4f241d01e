"""Fits a small dense Keras network to a synthetic table; KERAS_BACKEND chooses the backend."""

import argparse
import os
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
from keras import layers

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000, help="optimizer steps")
args = parser.parse_args()

keras.utils.set_random_seed(812)
batch_size = 32

# a first fit warms up; the second one is timed, in epochs of equal length
warmup = max(1, min(20, args.steps // 10))
rest = args.steps - warmup
epochs = next((n for n in range(5, 50) if rest % n == 0), 1)
steps_per_epoch = rest // epochs

rng = np.random.default_rng(812)
x_train = rng.normal(size=(steps_per_epoch * batch_size, 20)).astype("float32")
logit = 2 * x_train[:, 0] * x_train[:, 1] + x_train[:, 2:6].sum(axis=1)
y_train = (logit + rng.normal(size=len(logit)) > 0).astype("float32")
x_first = rng.normal(size=(warmup * batch_size, 20)).astype("float32")
y_first = (2 * x_first[:, 0] * x_first[:, 1] + x_first[:, 2:6].sum(axis=1) > 0).astype("float32")

model = keras.Sequential(
    [
        keras.Input(shape=(20,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.summary()

model.fit(x_first, y_first, batch_size=batch_size, epochs=1, verbose=2)

start = time.perf_counter()
history = model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, verbose=2)
elapsed = time.perf_counter() - start

loss = float(history.history["loss"][-1])
print(f"backend {keras.backend.backend()}, {epochs} epochs of {steps_per_epoch} steps")
print(f"steps_per_s={rest / elapsed:.3f} loss={loss!r}")
