"""Keyword-like tone classifier on log spectra."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import numpy as np
import keras
from keras import layers

SR = 4000
LENGTH = 1024
WORDS = {"up": (300, 900), "down": (900, 300), "flat": (600, 600), "high": (1200, 1300), "wobble": (500, 520)}


def synth(word, rng):
    f0, f1 = WORDS[word]
    jitter = rng.normal(1.0, 0.08)
    t = np.arange(LENGTH) / SR
    freq = np.linspace(f0, f1, LENGTH) * jitter
    if word == "wobble":
        freq = freq + 120 * np.sin(2 * np.pi * 12 * t)
    phase = 2 * np.pi * np.cumsum(freq) / SR + rng.uniform(0, 6.28)
    return np.sin(phase) * rng.uniform(0.5, 1.0) + rng.normal(0, 0.35, LENGTH)


def log_spectrogram(sig, win=128, hop=64):
    frames = np.stack([sig[i:i + win] for i in range(0, len(sig) - win + 1, hop)])
    spec = np.abs(np.fft.rfft(frames * np.hanning(win), axis=1))[:, :48]
    return np.log(spec + 1e-3)


def load_dataset(per_class, rng):
    feats, labels = [], []
    for idx, word in enumerate(WORDS):
        for _ in range(per_class):
            feats.append(log_spectrogram(synth(word, rng)))
            labels.append(idx)
    feats = np.asarray(feats, dtype="float32")
    labels = np.asarray(labels)
    return feats, labels


class ToneNet(keras.Model):
    def __init__(self, n_classes, width=24):
        super().__init__()
        self.norm = layers.BatchNormalization()
        self.c1 = layers.Conv1D(width, 3, activation="relu")
        self.c2 = layers.Conv1D(width, 3, activation="relu")
        self.flat = layers.Flatten()
        self.drop = layers.Dropout(0.3)
        self.out = layers.Dense(n_classes)

    def call(self, x, training=False):
        x = self.norm(x, training=training)
        x = self.c2(self.c1(x))
        x = self.drop(self.flat(x), training=training)
        return self.out(x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--per-class", type=int, default=240)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()

    keras.utils.set_random_seed(11)
    rng = np.random.default_rng(11)
    x, y = load_dataset(args.per_class, rng)
    print("data", x.shape, "classes", np.bincount(y))

    model = ToneNet(len(WORDS))
    model.compile(
        optimizer=keras.optimizers.Adam(args.lr),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    hist = model.fit(x, y, epochs=args.epochs, batch_size=32, validation_split=0.2, verbose=2)
    print("final val accuracy %.3f" % hist.history["val_accuracy"][-1])


if __name__ == "__main__":
    main()
