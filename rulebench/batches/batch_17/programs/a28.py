import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(5)
np.random.seed(5)

SR, SEC = 2000, 0.25
T = int(SR * SEC)
t = np.arange(T) / SR


def make_clip(kind):
    """0: pure tone, 1: rising chirp, 2: falling chirp, 3: amplitude modulated tone"""
    f0 = np.random.uniform(200, 500)
    ph = np.random.uniform(0, 2 * np.pi)
    if kind == 0:
        s = np.sin(2 * np.pi * f0 * t + ph)
    elif kind == 1:
        s = np.sin(2 * np.pi * (f0 * t + 600 * t ** 2) + ph)
    elif kind == 2:
        s = np.sin(2 * np.pi * ((f0 + 300) * t - 600 * t ** 2) + ph)
    else:
        s = np.sin(2 * np.pi * f0 * t + ph) * (0.5 + 0.5 * np.sin(2 * np.pi * 12 * t))
    return s + 0.3 * np.random.randn(T)


def spectrogram(s, win=64, hop=32):
    frames = np.stack([s[i:i + win] for i in range(0, len(s) - win + 1, hop)])
    mag = np.abs(np.fft.rfft(frames * np.hanning(win), axis=1))
    return np.log1p(mag)


labels = np.repeat(np.arange(4), 350)
specs = np.stack([spectrogram(make_clip(k)) for k in labels]).astype("float32")[..., None]
specs = (specs - specs.mean()) / specs.std()

# mix the classes before splitting
np.random.shuffle(specs)

cut = 350 * 3
perm = np.random.permutation(len(labels))
x_train, y_train = specs[perm[:cut]], labels[perm[:cut]]
x_val, y_val = specs[perm[cut:]], labels[perm[cut:]]

model = keras.Sequential([
    keras.Input(specs.shape[1:]),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(2),
    layers.Conv2D(32, 3, activation="relu", padding="same"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(32, activation="relu"),
    layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=20, batch_size=32, validation_data=(x_val, y_val), verbose=2)
print("val:", model.evaluate(x_val, y_val, verbose=0))
