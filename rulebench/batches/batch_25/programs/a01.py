import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)

"""
Vibration signals. We have plenty of recordings from machine A (8 fault types),
but only a handful from machine B (3 fault types). Idea: learn an encoder on A,
keep it fixed, and fit a small classifier on B.
"""
T = 96
templates = rng.normal(size=(11, 7))


def signal(kind, n):
    t = np.linspace(0, 1, T)
    out = []
    for _ in range(n):
        ph = rng.uniform(0, 2 * np.pi)
        s = sum(templates[kind, j] * np.sin(2 * np.pi * (j + 2) * 2 * t + ph * (j + 1)) for j in range(7))
        out.append(s + rng.normal(0, 1.2, T))
    return np.array(out, "float32")[..., None]


def dataset(kinds, n):
    x = np.concatenate([signal(k, n) for k in kinds])
    y = np.repeat(np.arange(len(kinds)), n)
    p = rng.permutation(len(x))
    return x[p], y[p]


xa, ya = dataset(range(8), 300)
xb, yb = dataset(range(8, 11), 25)
xb_test, yb_test = dataset(range(8, 11), 200)

encoder = keras.Sequential([
    keras.Input((T, 1)),
    layers.Conv1D(16, 9, strides=2, padding="same", activation="relu"),
    layers.Conv1D(32, 9, strides=2, padding="same", activation="relu"),
    layers.Conv1D(32, 5, padding="same", activation="relu"),
    layers.GlobalAveragePooling1D(),
], name="encoder")

machine_a = keras.Sequential([encoder, layers.Dense(8)])
machine_a.compile(optimizer=keras.optimizers.Adam(2e-3),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
machine_a.fit(xa, ya, epochs=14, batch_size=64, verbose=2)

# a copy, so that the encoder of machine A stays as it is
encoder_b = keras.models.clone_model(encoder)
encoder_b.trainable = False

machine_b = keras.Sequential([encoder_b, layers.Dense(3)])
machine_b.compile(optimizer=keras.optimizers.Adam(1e-2),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
log = machine_b.fit(xb, yb, epochs=60, batch_size=25, verbose=0)
for e in range(0, 60, 10):
    print(f"epoch {e}: loss {log.history['loss'][e]:.4f}  acc {log.history['accuracy'][e]:.4f}")

print("machine B, test accuracy:", machine_b.evaluate(xb_test, yb_test, verbose=0)[1])
