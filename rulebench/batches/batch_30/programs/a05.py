import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(1)


def load_gestures(per_class=300, n_steps=40, day=1):
    """Accelerometer-like recordings, one folder per gesture on disk, read in one after the other."""
    xs, ys = [], []
    rng = np.random.default_rng(day)
    t = np.linspace(0, 1, n_steps)
    for label, (f, shape) in enumerate([(2, "sin"), (4, "sin"), (2, "saw"), (4, "saw"), (3, "sq")]):
        for _ in range(per_class):
            ph = rng.uniform(0, 1)
            z = f * t + ph
            if shape == "sin":
                s = np.sin(2 * np.pi * z)
            elif shape == "saw":
                s = 2 * (z % 1) - 1
            else:
                s = np.sign(np.sin(2 * np.pi * z))
            rec = np.stack([s, np.roll(s, 5) * rng.uniform(0.7, 1.3), rng.normal(size=n_steps)], axis=1)
            xs.append(rec + 0.25 * rng.normal(size=rec.shape))
            ys.append(label)
    return np.array(xs, "float32"), np.array(ys)


X, y = load_gestures()
print("data", X.shape, "labels", np.bincount(y))

model = keras.Sequential([
    layers.Input(X.shape[1:]),
    layers.Conv1D(24, 5, activation="relu", padding="same"),
    layers.MaxPooling1D(2),
    layers.Conv1D(48, 5, activation="relu", padding="same"),
    layers.GlobalMaxPooling1D(),
    layers.Dropout(0.3),
    layers.Dense(5, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

# keep 20 % aside for validation; fit() shuffles the rows anyway
h = model.fit(X, y, validation_split=0.2, epochs=15, batch_size=32, shuffle=True, verbose=2)

# fresh recordings made on another day
X_new, y_new = load_gestures(per_class=80, day=2)
loss, acc = model.evaluate(X_new, y_new, verbose=0)
print("best val accuracy:", round(max(h.history["val_accuracy"]), 4))
print("accuracy on the new recordings:", round(acc, 4))
