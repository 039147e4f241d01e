import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# activity recognition from short accelerometer windows
keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
CLASSES, PER, LEN = 5, 200, 32
t = np.arange(LEN)
signals, labels = [], []
for c in range(CLASSES):
    for _ in range(PER):
        f = 0.15 + 0.12 * c + rng.normal(0, 0.01)
        sig = np.sin(f * t + rng.uniform(0, 6.28)) + rng.normal(0, 0.3, LEN)
        signals.append(sig)
        labels.append(c)
x = np.array(signals, "float32")[..., None]
y = np.array(labels)
model = keras.Sequential([
    keras.Input((LEN, 1)),
    layers.Conv1D(16, 5, activation="relu"),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 3, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(CLASSES, activation="softmax"),
])
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(x, y, epochs=20, batch_size=32, validation_split=0.2, verbose=2)
print("train acc", h.history["accuracy"][-1], "val acc", h.history["val_accuracy"][-1])
