import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

GESTURES = ["circle", "shake", "tap", "swipe", "tilt"]
keras.utils.set_random_seed(40)
rng = np.random.default_rng(40)
t = np.linspace(0, 1, 40)


def record(name, n):
    """n recordings of one gesture, 40 samples of a 2-axis accelerometer"""
    f = rng.uniform(0.8, 1.2, (n, 1))
    p = rng.uniform(-0.6, 0.6, (n, 1))
    if name == "circle":
        a, b = np.cos(6 * f * t + p), np.sin(6 * f * t + p)
    elif name == "shake":
        a, b = np.sin(20 * f * t + p), 0 * t + p * 0.2
    elif name == "tap":
        a, b = np.exp(-((t - 0.5 - p * 0.3) ** 2) / 0.004), -0.5 * np.exp(-((t - 0.55 - p * 0.3) ** 2) / 0.004)
    elif name == "swipe":
        a, b = np.tanh(8 * (t - 0.5 + p * 0.3)), 0.3 * t * f
    else:
        a, b = 0.2 * t * f, np.tanh(8 * (t - 0.5 + p * 0.3))
    x = np.stack([a + 0 * f * t, b + 0 * f * t], -1)
    return (x + rng.normal(0, 0.3, x.shape)).astype("float32")


def load_all(n):
    xs, ys = [], []
    for i, g in enumerate(GESTURES):
        xs.append(record(g, n))
        ys.append(np.full(n, i))
    return np.concatenate(xs), np.concatenate(ys)


X, y = load_all(400)
X_test, y_test = load_all(100)
model = keras.Sequential([
    keras.Input((40, 2)),
    layers.Conv1D(16, 5, activation="relu"),
    layers.MaxPooling1D(2),
    layers.Conv1D(16, 5, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(32, activation="relu"),
    layers.Dense(5, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(X, y, epochs=12, batch_size=32, shuffle=True, validation_split=0.2, verbose=0)
for e in range(0, 12, 2):
    print(e, {k: round(float(v[e]), 3) for k, v in hist.history.items()})
print("accuracy on the recordings of the second day:", round(float(model.evaluate(X_test, y_test, verbose=0)[1]), 4))
