import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import torch
import keras
from keras import layers


class TripletModel(keras.Model):
    def __init__(self, encoder, margin):
        super().__init__()
        self.encoder = encoder
        self.margin = margin
        self.tracker = keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        return self.encoder(x, training=training)

    @property
    def metrics(self):
        return [self.tracker]

    def train_step(self, data):
        trip, _ = data
        self.zero_grad()
        a, p, n = (self(trip[:, i], training=True) for i in range(3))
        dp = ((a - p) ** 2).sum(1)
        dn = ((a - n) ** 2).sum(1)
        loss = torch.relu(dp - dn + self.margin).mean()
        loss.backward()
        weights = list(self.trainable_weights)
        grads = [w.value.grad for w in weights]
        with torch.no_grad():
            self.optimizer.apply(grads, weights)
        self.tracker.update_state(loss.detach())
        return {"loss": self.tracker.result()}


def signals(n, rng, k=10, length=48):
    y = rng.integers(0, k, n)
    t = np.linspace(0, 1, length)
    f = 2 + y[:, None] * 0.7
    x = np.sin(2 * np.pi * (f * t + rng.uniform(0, 1, (n, 1)))) * rng.uniform(0.7, 1.3, (n, 1))
    return (x + 0.5 * rng.normal(size=x.shape)).astype("float32")[..., None], y


def triplets(x, y, n, rng):
    out = np.empty((n, 3) + x.shape[1:], "float32")
    for i in range(n):
        a = rng.integers(len(x))
        out[i, 0] = x[a]
        out[i, 1] = x[rng.choice(np.where(y == y[a])[0])]
        out[i, 2] = x[rng.choice(np.where(y != y[a])[0])]
    return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--margin", type=float, default=0.5)
    ap.add_argument("--epochs", type=int, default=12)
    args = ap.parse_args()
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    x, y = signals(1000, rng)
    xt, yt = signals(300, rng)
    enc = keras.Sequential([layers.Input((48, 1)), layers.Conv1D(16, 7, activation="relu"), layers.MaxPooling1D(2),
                            layers.Conv1D(32, 5, activation="relu"), layers.GlobalMaxPooling1D(), layers.Dense(8),
                            layers.UnitNormalization()])
    model = TripletModel(enc, args.margin)
    model.compile(optimizer=keras.optimizers.Adam(2e-3))
    tri = triplets(x, y, 2500, rng)
    model(x[:2])
    model.fit(tri, np.zeros(len(tri)), batch_size=64, epochs=args.epochs, verbose=2)
    e, et = enc.predict(x, verbose=0), enc.predict(xt, verbose=0)
    nn = (et @ e.T).argmax(1)
    print("1-nn accuracy", (y[nn] == yt).mean())


if __name__ == "__main__":
    main()
