import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# waveform types, label smoothing and a 1D CNN
keras.utils.set_random_seed(115)
rng = np.random.default_rng(115)
N, LEN = 1600, 48
y = rng.integers(0, 4, N)
t = np.arange(LEN)[None]
ph = rng.uniform(0, 2 * np.pi, (N, 1))
w = rng.uniform(0.25, 0.45, (N, 1))
a = (w * t + ph) % (2 * np.pi)
shapes = [np.sin(a), np.sign(np.sin(a)), a / np.pi - 1, 2 * np.abs(a / np.pi - 1) - 1]
x = np.choose(y[:, None], shapes) + 0.2 * rng.normal(size=(N, LEN))
x = x[..., None].astype("float32")
yy = keras.utils.to_categorical(y, 4)

model = keras.Sequential([
    keras.Input((LEN, 1)),
    layers.Conv1D(24, 5, padding="same"), layers.LayerNormalization(), layers.ReLU(),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 5, padding="same"), layers.LayerNormalization(), layers.ReLU(),
    layers.GlobalMaxPooling1D(),
    layers.Dropout(0.2),
    layers.Dense(4, activation="softmax"),
])
model.compile(keras.optimizers.Adam(2e-3), keras.losses.CategoricalCrossentropy(label_smoothing=0.1), metrics=["accuracy"])
model.fit(x[:1200], yy[:1200], epochs=15, batch_size=32, validation_data=(x[1200:], yy[1200:]), verbose=2)
print(model.evaluate(x[1200:], yy[1200:], verbose=0))
