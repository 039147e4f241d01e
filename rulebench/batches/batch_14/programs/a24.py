"""Keyword-like sound classification from log spectrograms with a small CRNN."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers

SR = 2000
FRAME, HOP = 64, 32
KINDS = ["up", "down", "steady", "trill", "double"]


def synth(kind, rng, seconds=0.5, clip=1.2):
    n = int(SR * seconds)
    t = np.arange(n) / SR
    f0 = rng.uniform(200, 500)
    if kind == "up":
        f = f0 + 350 * t / seconds
    elif kind == "down":
        f = f0 + 350 - 350 * t / seconds
    elif kind == "steady":
        f = np.full(n, f0 + rng.uniform(0, 350))
    elif kind == "trill":
        f = f0 + 175 + 120 * np.sign(np.sin(2 * np.pi * 9 * t))
    else:
        f = np.full(n, f0 + rng.uniform(0, 350))
    x = np.sin(2 * np.pi * np.cumsum(f) / SR + rng.uniform(0, 6.28))
    if kind == "double":
        x *= (np.sin(2 * np.pi * 2 / seconds * t) > 0)
    x *= rng.uniform(0.5, 1.0)
    out = rng.normal(0, 0.35, int(SR * clip))
    start = rng.integers(0, len(out) - n)
    out[start:start + n] += x
    return out


def log_spec(x):
    """(freq bins, frames)"""
    n = 1 + (len(x) - FRAME) // HOP
    frames = np.stack([x[i * HOP:i * HOP + FRAME] for i in range(n)])
    mag = np.abs(np.fft.rfft(frames * np.hanning(FRAME), axis=1))
    return np.log(mag + 1e-2).T


def dataset(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(KINDS), n)
    X = np.stack([log_spec(synth(KINDS[k], rng)) for k in y]).astype("float32")
    return X, y


def to_sequence(X):
    """(n, freq, frames) -> (n, frames, freq) for the network"""
    return X.transpose(0, 2, 1)


class Batches(keras.utils.PyDataset):
    """Shuffled batches with a little augmentation on the spectrograms (batch, time, freq)."""

    def __init__(self, x, y, batch, seed):
        super().__init__()
        self.x, self.y, self.batch = x, y, batch
        self.rng = np.random.default_rng(seed)
        self.order = self.rng.permutation(len(x))

    def __len__(self):
        return len(self.x) // self.batch

    def augment(self, x):
        for k in range(len(x)):
            x[k] = np.roll(x[k], self.rng.integers(-5, 6), axis=0)
            if self.rng.random() < 0.5:
                x[k] = x[k][::-1].copy()
        x += self.rng.uniform(-0.2, 0.2, (len(x), 1, 1)).astype("float32")
        return x

    def __getitem__(self, i):
        idx = self.order[i * self.batch:(i + 1) * self.batch]
        return self.augment(self.x[idx].copy()), self.y[idx]

    def on_epoch_end(self):
        self.rng.shuffle(self.order)


def build(shape, units):
    inp = keras.Input(shape)
    x = layers.Conv1D(units, 5, activation="relu")(inp)
    x = layers.MaxPooling1D(2)(x)
    x = layers.GRU(units, return_sequences=True)(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(inp, layers.Dense(len(KINDS), activation="softmax")(x))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n-train", type=int, default=1000)
    ap.add_argument("--units", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=22)
    args = ap.parse_args()
    keras.utils.set_random_seed(6)

    X, y = dataset(args.n_train, 6)
    Xv, yv = dataset(400, 7)
    mu, sd = X.mean(), X.std()
    X, Xv = to_sequence((X - mu) / sd), to_sequence((Xv - mu) / sd)
    print("train", X.shape, "val", Xv.shape)

    model = build(X.shape[1:], args.units)
    model.compile(keras.optimizers.Adam(3e-3, clipnorm=1.0),
                  "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(Batches(X, y, 32, 6), epochs=args.epochs, validation_data=(Xv, yv), verbose=2)
    p = model.predict(Xv, verbose=0).argmax(1)
    for k, name in enumerate(KINDS):
        print(f"{name:8s} recall {np.mean(p[yv == k] == k):.2f}")
    print("val accuracy", np.mean(p == yv))


if __name__ == "__main__":
    main()
