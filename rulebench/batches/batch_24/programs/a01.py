"""Sensor fault detection. The edge box only has room for 8 windows at a time."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(11)

WINDOW = 64
CHANNELS = 3
BATCH = 8
ACCUM = 4


def make_windows(n, rng):
    t = np.arange(WINDOW) / WINDOW
    x = np.zeros((n, WINDOW, CHANNELS), "float32")
    y = rng.integers(0, 4, n)
    for i in range(n):
        f = rng.uniform(2, 4)
        for c in range(CHANNELS):
            x[i, :, c] = np.sin(2 * np.pi * f * t + rng.uniform(0, 6.28))
        if y[i] == 1:      # spike
            p = rng.integers(5, WINDOW - 5)
            x[i, p:p + 2, rng.integers(CHANNELS)] += 3.0
        elif y[i] == 2:    # drift
            x[i] += np.linspace(0, 1.5, WINDOW)[:, None]
        elif y[i] == 3:    # dead channel
            x[i, WINDOW // 2:, rng.integers(CHANNELS)] = 0.0
    x += rng.normal(0, 0.15, x.shape)
    return x.astype("float32"), y


rng = np.random.default_rng(0)
x_train, y_train = make_windows(1400, rng)
x_test, y_test = make_windows(600, rng)
mean, std = x_train.mean((0, 1)), x_train.std((0, 1))
x_train = (x_train - mean) / std
x_test = (x_test - mean) / std

inputs = keras.Input((WINDOW, CHANNELS))
h = layers.Conv1D(24, 5, padding="same", activation="relu")(inputs)
h = layers.MaxPooling1D(2)(h)
h = layers.Conv1D(32, 5, padding="same", activation="relu")(h)
a = layers.GlobalAveragePooling1D()(h)
m = layers.GlobalMaxPooling1D()(h)
h = layers.Concatenate()([a, m])
h = layers.Dense(32, activation="relu")(h)
outputs = layers.Dense(4)(h)
model = keras.Model(inputs, outputs)

opt = keras.optimizers.Adam(2.5e-3, gradient_accumulation_steps=ACCUM)
model.compile(
    optimizer=opt,
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.summary()
hist = model.fit(x_train, y_train, batch_size=BATCH, epochs=9,
                 validation_data=(x_test, y_test), verbose=2)

pred = model.predict(x_test, verbose=0).argmax(-1)
names = ["ok", "spike", "drift", "dead"]
for k, name in enumerate(names):
    sel = y_test == k
    print(f"{name:6s} recall {np.mean(pred[sel] == k):.3f}  (n={sel.sum()})")
print("test accuracy", np.mean(pred == y_test))
