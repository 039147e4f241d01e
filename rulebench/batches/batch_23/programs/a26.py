"""Denoising convolutional autoencoder, torch backend."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import argparse

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--noise", type=float, default=0.35)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=31)
    return p.parse_args()


def corrupt(x, level, rng):
    return (x + level * rng.normal(size=x.shape)).astype("float32")


def build_model():
    inp = keras.Input((8, 8, 1))
    h = layers.Conv2D(24, 3, padding="same", activation="relu")(inp)
    h = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(h)
    h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
    h = layers.Conv2DTranspose(24, 3, strides=2, padding="same", activation="relu")(h)
    out = layers.Conv2D(1, 3, padding="same")(h)
    return keras.Model(inp, out, name="denoiser")


def psnr(a, b):
    return float(-10 * np.log10(((a - b) ** 2).mean()))


def main():
    args = get_args()
    keras.utils.set_random_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    images = (load_digits().images / 16.0).astype("float32")[..., None]
    images = images[rng.permutation(len(images))]
    clean_train, clean_test = images[:1400], images[1400:]
    noisy_test = corrupt(clean_test, args.noise, rng)

    model = build_model()
    model.compile(keras.optimizers.Adam(args.lr), loss="mse")
    model.summary()

    for epoch in range(args.epochs):
        noisy_train = corrupt(clean_train, args.noise, rng)
        log = model.fit(noisy_train, clean_train, batch_size=args.batch_size, epochs=1, verbose=0)
        val = model.evaluate(noisy_test, clean_test, verbose=0)
        print(f"epoch {epoch + 1}: train mse {log.history['loss'][0]:.4f}  test mse {val:.4f}")

    restored = model.predict(noisy_test, verbose=0)
    print(f"psnr noisy {psnr(noisy_test, clean_test):.2f} dB, restored {psnr(restored, clean_test):.2f} dB")


if __name__ == "__main__":
    main()
