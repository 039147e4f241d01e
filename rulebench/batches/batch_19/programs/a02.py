import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers, ops

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

# Heteroscedastic regression: predict the mean and the spread of the demand
N = 3000
x = rng.uniform(-3, 3, size=(N, 3)).astype("float32")
mean = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1]
std = 0.1 + 0.3 * np.abs(x[:, 2])
y = (mean + std * rng.normal(size=N)).astype("float32")
x_tr, y_tr, x_te, y_te = x[:2400], y[:2400], x[2400:], y[2400:]


class GaussianRegressor(keras.Model):
    def __init__(self, hidden=64):
        super().__init__()
        self.body = keras.Sequential(
            [layers.Dense(hidden, activation="relu"), layers.Dense(hidden, activation="relu")]
        )
        self.mu_head = layers.Dense(1)
        self.sigma_head = layers.Dense(1)

    def call(self, inputs):
        h = self.body(inputs)
        return ops.concatenate([self.mu_head(h), self.sigma_head(h)], axis=-1)


def gaussian_nll(y_true, y_pred):
    y_true = ops.reshape(y_true, (-1,))
    mu, sigma = y_pred[:, 0], y_pred[:, 1]
    return ops.log(sigma) + 0.5 * ops.square((y_true - mu) / sigma)


model = GaussianRegressor()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=gaussian_nll)
hist = model.fit(x_tr, y_tr, epochs=25, batch_size=64, validation_data=(x_te, y_te), verbose=0)
for i, (a, b) in enumerate(zip(hist.history["loss"], hist.history["val_loss"])):
    if i % 3 == 0:
        print(f"epoch {i:02d}  nll {a:.4f}  val nll {b:.4f}")

out = model.predict(x_te, verbose=0)
mu, sigma = out[:, 0], out[:, 1]
rmse = np.sqrt(np.mean((mu - y_te) ** 2))
z = np.abs(y_te - mu) / sigma
print(f"rmse {rmse:.4f}")
print(f"coverage of the 95% interval {np.mean(z < 1.96):.3f}")
