import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(8)


class NoisyRegressor(keras.Model):
    """adds input noise in training, everything else is standard"""

    def __init__(self, noise=0.05):
        super().__init__()
        self.noise = noise
        self.d1 = layers.Dense(48, activation="tanh")
        self.d2 = layers.Dense(48, activation="tanh")
        self.out = layers.Dense(1)

    def call(self, x, training=False):
        return self.out(self.d2(self.d1(x)))

    def train_step(self, data):
        x, y = data
        x = x + self.noise * torch.randn_like(x)
        y_pred = self(x, training=True)
        loss = self.compute_loss(y=y, y_pred=y_pred)
        loss.backward()
        weights = [v for v in self.trainable_weights]
        grads = [v.value.grad for v in weights]
        with torch.no_grad():
            self.optimizer.apply(grads, weights)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


def friedman(n, seed):
    r = np.random.default_rng(seed)
    x = r.uniform(size=(n, 6))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - .5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = y + r.normal(size=n)
    return (x.astype("float32") - 0.5) * 3.46, ((y - 14.4) / 5.0).astype("float32")[:, None]


xtr, ytr = friedman(1500, 0)
xte, yte = friedman(500, 1)
model = NoisyRegressor()
model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
model.fit(xtr, ytr, batch_size=32, epochs=15, validation_data=(xte, yte), verbose=2)
print("test mse", model.evaluate(xte, yte, verbose=0), "variance", yte.var())
