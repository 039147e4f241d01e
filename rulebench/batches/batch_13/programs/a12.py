import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(0)
keras.utils.set_random_seed(0)
SR, N = 4000, 4000
CLASSES = ["rising", "falling", "flat", "vibrato"]


def clip(kind):
    t = np.arange(N) / SR
    f0 = rng.uniform(500, 1100)
    sweep = rng.uniform(200, 400)
    if kind == 0:
        f = f0 + sweep * t
    elif kind == 1:
        f = f0 + sweep * (1 - t)
    elif kind == 2:
        f = f0 + sweep / 2 + 0 * t
    else:
        f = f0 + sweep / 2 + sweep / 2 * np.sin(2 * np.pi * 4 * t + rng.uniform(0, 6))
    return np.sin(2 * np.pi * np.cumsum(f) / SR) + rng.normal(0, 0.8, N)


def log_spec(sig, win=128, hop=64):
    frames = np.lib.stride_tricks.sliding_window_view(sig, win)[::hop] * np.hanning(win)
    return np.log1p(np.abs(np.fft.rfft(frames, axis=1))).T      # (bins, frames)


labels = rng.integers(0, 4, 1600)
specs = np.stack([log_spec(clip(k)) for k in labels]).astype("float32")
specs = (specs - specs[:1200].mean()) / specs[:1200].std()
print("spectrograms", specs.shape)

n, bins, frames = specs.shape
x = specs.reshape(n, frames, bins)
x_tr, x_te, y_tr, y_te = x[:1200], x[1200:], labels[:1200], labels[1200:]

model = keras.Sequential([
    layers.Input((frames, bins)),
    layers.Conv1D(32, 5, activation="relu", padding="same"),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 5, activation="relu", padding="same"),
    layers.GRU(32),
    layers.Dropout(0.2),
    layers.Dense(len(CLASSES), activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_tr, y_tr, epochs=15, batch_size=32, validation_data=(x_te, y_te), verbose=2)
print("final accuracy", model.evaluate(x_te, y_te, verbose=0)[1])
