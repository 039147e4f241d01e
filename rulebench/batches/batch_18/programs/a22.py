"""Anomaly detection with a denoising autoencoder; only normal machines in the training set."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import argparse
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler


def normal_machine(n, rng):
    latent = rng.normal(size=(n, 3))
    mix = np.random.default_rng(99).normal(size=(3, 16))
    return latent @ mix + rng.normal(0, 0.3, (n, 16))


def broken_machine(n, rng):
    x = normal_machine(n, rng)
    for row in x:
        cols = rng.choice(16, 4, replace=False)
        row[cols] = rng.permutation(row[cols]) + rng.normal(0, 1.5, 4)
    return x


class DenoisingAE(keras.Model):
    def __init__(self, dim, bottleneck, noise):
        super().__init__()
        self.noise = layers.GaussianNoise(noise)
        self.enc = keras.Sequential([layers.Dense(32, activation="gelu"), layers.Dense(bottleneck)])
        self.dec = keras.Sequential([layers.Dense(32, activation="gelu"), layers.Dense(dim)])

    def call(self, x, training=False):
        return self.dec(self.enc(self.noise(x, training=training)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bottleneck", type=int, default=3)
    ap.add_argument("--noise", type=float, default=0.2)
    ap.add_argument("--epochs", type=int, default=25)
    args = ap.parse_args()
    keras.utils.set_random_seed(13)
    rng = np.random.default_rng(13)

    train = normal_machine(2500, rng)
    val = normal_machine(400, rng)
    test = np.concatenate([normal_machine(400, rng), broken_machine(400, rng)])
    is_broken = np.r_[np.zeros(400), np.ones(400)]
    scaler = StandardScaler().fit(train)
    train, val, test = (scaler.transform(a).astype("float32") for a in (train, val, test))

    model = DenoisingAE(16, args.bottleneck, args.noise)
    model.compile(optimizer=keras.optimizers.AdamW(2e-3, weight_decay=1e-4), loss="mse")
    model.fit(train, train, epochs=args.epochs, batch_size=64, validation_data=(val, val), verbose=2,
              callbacks=[keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)])

    err_val = np.mean((model.predict(val, verbose=0) - val) ** 2, axis=1)
    threshold = np.quantile(err_val, 0.95)
    err = np.mean((model.predict(test, verbose=0) - test) ** 2, axis=1)
    print("AUC %.3f" % roc_auc_score(is_broken, err))
    print("alarm rate normal %.3f broken %.3f" % ((err[:400] > threshold).mean(), (err[400:] > threshold).mean()))


if __name__ == "__main__":
    main()
