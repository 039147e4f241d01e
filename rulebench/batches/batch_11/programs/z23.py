"""Regression with a custom train_step on the torch backend of Keras."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import keras
from keras import layers, ops

CONFIG = {"epochs": 16, "batch_size": 48, "lr": 0.008, "noise": 0.2, "seed": 8}


def friedman(n, rng):
    x = rng.uniform(size=(n, 8)).astype("float32")
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = (y - 14.4) / 4.9 + CONFIG["noise"] * rng.normal(size=n)
    return x, y.astype("float32")[:, None]


class MixupRegressor(keras.Model):
    def __init__(self, width, **kw):
        super().__init__(**kw)
        self.body = keras.Sequential([layers.Dense(width, activation="relu"), layers.Dense(width, activation="relu")])
        self.out = layers.Dense(1)
        self.loss_tracker = keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        return self.out(self.body(x))

    @property
    def metrics(self):
        return [self.loss_tracker]

    def train_step(self, data):
        x, y = data
        lam = float(np.random.beta(8.0, 0.5))
        perm = torch.randperm(len(x))
        x, y = lam * x + (1 - lam) * x[perm], lam * y + (1 - lam) * y[perm]
        self.zero_grad()
        loss = ops.mean(ops.square(self(x, training=True) - y))
        loss.backward()
        trainable = [v for v in self.trainable_weights]
        with torch.no_grad():
            self.optimizer.apply([v.value.grad for v in trainable], trainable)
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def test_step(self, data):
        x, y = data
        self.loss_tracker.update_state(ops.mean(ops.square(self(x, training=False) - y)))
        return {"loss": self.loss_tracker.result()}


def main():
    keras.utils.set_random_seed(CONFIG["seed"])
    rng = np.random.default_rng(CONFIG["seed"])
    xtr, ytr = friedman(2500, rng)
    xte, yte = friedman(800, rng)
    model = MixupRegressor(48)
    model(torch.from_numpy(xtr[:2]))
    model.compile(optimizer=keras.optimizers.SGD(CONFIG["lr"], momentum=0.9))
    h = model.fit(xtr, ytr, validation_data=(xte, yte), epochs=CONFIG["epochs"], batch_size=CONFIG["batch_size"], verbose=0)
    for i, (a, b) in enumerate(zip(h.history["loss"], h.history["val_loss"])):
        print(f"epoch {i} loss {a:.4f} val {b:.4f}")
    p = model.predict(xte, verbose=0)
    print("test R2", float(1 - ((p - yte) ** 2).sum() / ((yte - yte.mean()) ** 2).sum()))


if __name__ == "__main__":
    main()
