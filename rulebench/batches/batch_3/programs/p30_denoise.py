"""Denoising autoencoder for sine mixtures; the noise is drawn anew at each step, the target is the clean signal.
Linear output, weights of decoder = transpose of encoder."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
import torch
from keras import layers, ops

SEED = 40


class TiedDecoder(layers.Layer):
    def __init__(self, dense, **kw):
        super().__init__(**kw)
        self.dense = dense

    def build(self, input_shape):
        self.bias = self.add_weight(shape=(self.dense.kernel.shape[0],), initializer="zeros", name="bias")

    def call(self, h):
        return ops.matmul(h, ops.transpose(self.dense.kernel)) + self.bias


class DenoisingAE(keras.Model):
    def __init__(self, dim, hidden, sigma):
        super().__init__()
        self.sigma = sigma
        self.enc = layers.Dense(hidden, activation="relu")
        self.enc.build((None, dim))
        self.dec = TiedDecoder(self.enc)
        self.gen = keras.random.SeedGenerator(SEED)
        self.tracker = keras.metrics.Mean(name="loss")

    def call(self, x):
        return self.dec(self.enc(x))

    @property
    def metrics(self):
        return [self.tracker]

    def train_step(self, data):
        noisy = data + self.sigma * keras.random.normal(ops.shape(data), seed=self.gen)
        self.zero_grad()
        loss = ops.mean(ops.square(self(noisy, training=True) - data))
        loss.backward()
        weights = self.trainable_weights
        with torch.no_grad():
            self.optimizer.apply([w.value.grad for w in weights], weights)
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}


def signals(n, rng, dim=48):
    t = np.linspace(0, 1, dim)
    out = np.zeros((n, dim))
    for k in (1, 2, 3):
        out += rng.normal(0, 1.0 / k, (n, 1)) * np.sin(2 * np.pi * k * t)
        out += rng.normal(0, 1.0 / k, (n, 1)) * np.cos(2 * np.pi * k * t)
    return out.astype("float32")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--sigma", type=float, default=0.6)
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=40)
    a = ap.parse_args()
    keras.utils.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    train, test = signals(2000, rng), signals(400, rng)

    model = DenoisingAE(48, a.hidden, a.sigma)
    model.compile(optimizer=keras.optimizers.Adam(3e-3))
    model.fit(train, batch_size=64, epochs=a.epochs, verbose=2)

    noisy = test + a.sigma * rng.normal(size=test.shape).astype("float32")
    clean = model.predict(noisy, verbose=0)
    print("mse noisy   %.4f" % np.mean((noisy - test) ** 2))
    print("mse denoised %.4f" % np.mean((clean - test) ** 2))


if __name__ == "__main__":
    main()
