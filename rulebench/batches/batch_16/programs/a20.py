import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split


class SimCLR(keras.Model):
    """Contrastive learning without labels."""

    def __init__(self, encoder, projector, temperature=0.2, noise=0.15, drop=0.2):
        super().__init__()
        self.encoder, self.projector = encoder, projector
        self.temperature, self.noise, self.drop = temperature, noise, drop
        self.loss_metric = keras.metrics.Mean(name="nt_xent")

    @property
    def metrics(self):
        return [self.loss_metric]

    def call(self, x):
        return self.projector(self.encoder(x))

    def augment(self, x):
        x = x + self.noise * torch.randn_like(x)
        return x * (torch.rand_like(x) > self.drop)

    def train_step(self, x):
        self.zero_grad()
        n = x.shape[0]
        a = self.projector(self.encoder(self.augment(x), training=True))
        b = self.projector(self.encoder(self.augment(x), training=True))
        z = torch.nn.functional.normalize(torch.cat([a, b]), dim=1)
        sim = z @ z.T / self.temperature
        sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
        target = torch.cat([torch.arange(n) + n, torch.arange(n)])
        loss = torch.nn.functional.cross_entropy(sim, target)
        loss.backward()
        weights = self.trainable_weights
        with torch.no_grad():
            self.optimizer.apply([w.value.grad for w in weights], weights)
        self.loss_metric.update_state(loss.detach())
        return {"nt_xent": self.loss_metric.result()}


def main():
    keras.utils.set_random_seed(2)
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype("float32")
    x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, random_state=2)
    encoder = keras.Sequential([layers.Input((64,)), layers.Dense(128, activation="relu"),
                                layers.Dense(64, activation="relu")])
    projector = keras.Sequential([layers.Input((64,)), layers.Dense(64, activation="relu"), layers.Dense(32)])
    model = SimCLR(encoder, projector)
    model.compile(optimizer=keras.optimizers.AdamW(2e-3, weight_decay=1e-4))
    model.fit(x_tr, batch_size=128, epochs=20, verbose=2)

    f_tr, f_te = encoder.predict(x_tr, verbose=0), encoder.predict(x_te, verbose=0)
    probe = LogisticRegression(max_iter=500).fit(f_tr[:100], y_tr[:100])
    print("linear probe with 100 labels:", probe.score(f_te, y_te))


if __name__ == "__main__":
    main()
