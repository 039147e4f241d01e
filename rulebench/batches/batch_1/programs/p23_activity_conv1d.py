# Human-activity-like accelerometer windows (simulated): still / walk / run / stairs
# ported from my old TF1 notebook
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(77)
rng = np.random.default_rng(77)
T = 64


def simulate(n):
    y = rng.integers(0, 4, n)
    t = np.arange(T) / 32.0
    x = 0.3 * rng.normal(size=(n, T, 3))
    for i, c in enumerate(y):
        f = [0.0, 1.8, 2.9, 1.5][c] * rng.uniform(0.9, 1.1)
        a = [0.0, 0.6, 1.2, 0.6][c]
        ph = rng.uniform(0, 6.28)
        x[i, :, 0] += a * np.sin(6.28 * f * t + ph)
        x[i, :, 1] += a * np.sin(12.56 * f * t + ph) * 0.5
        if c == 3:
            x[i, :, 2] += 0.5 * t / t.max()
    return x.astype("float32"), y


x_train, y_train = simulate(2400)
x_test, y_test = simulate(600)

keep_prob = 0.95
model = keras.Sequential([
    keras.Input((T, 3)),
    layers.Conv1D(24, 7, strides=2, activation="relu"),
    layers.Dropout(keep_prob),
    layers.Conv1D(32, 5, strides=2, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(32, activation="relu"),
    layers.Dropout(keep_prob),
    layers.Dense(4),
])
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")],
)
model.fit(x_train, y_train, batch_size=32, epochs=12, validation_data=(x_test, y_test), verbose=2)
