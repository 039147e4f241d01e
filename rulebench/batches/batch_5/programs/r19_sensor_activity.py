import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(2024)
rng = np.random.default_rng(2024)

# six-channel IMU recordings, stored the way the logger writes them: (recording, channel, time)
N, C, T = 1500, 6, 48
labels = rng.integers(0, 4, N)
t = np.arange(T)
raw = np.zeros((N, C, T), dtype="float32")
for i, k in enumerate(labels):
    f = 0.08 + rng.uniform(-0.02, 0.02)
    ph = rng.uniform(0, 2 * np.pi)
    lag = [0.0, np.pi / 2, np.pi, 3 * np.pi / 2][k]
    for c in range(C):
        shift = lag if c % 2 else 0.0
        raw[i, c] = np.sin(2 * np.pi * f * t + ph + shift) * (1 + 0.2 * c)
raw += rng.normal(0, 1.3, raw.shape)

x = raw.reshape(N, T, C)
x_train, x_test, y_train, y_test = train_test_split(x, labels, test_size=0.3, stratify=labels, random_state=0)
m, s = x_train.mean(axis=(0, 1)), x_train.std(axis=(0, 1))
x_train, x_test = (x_train - m) / s, (x_test - m) / s

model = keras.Sequential([
    keras.Input((T, C)),
    layers.Conv1D(32, 5, activation="relu", padding="same"),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 5, activation="relu", padding="same"),
    layers.GlobalAveragePooling1D(),
    layers.Dropout(0.2),
    layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=20, validation_data=(x_test, y_test), verbose=2)
print("test acc", model.evaluate(x_test, y_test, verbose=0)[1])
