"""Two-headed model for trips: will it be cancelled, and how long does it take (seconds)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(17)

N, D = 5000, 16
rng = np.random.default_rng(17)
X = rng.normal(size=(N, D)).astype("float32")
w_c, w_d = rng.normal(size=D), rng.normal(size=D)
hidden = np.tanh(X @ rng.normal(size=(D, 6)) / 2)
cancel_logit = 1.4 * (X @ w_c) / np.sqrt(D) * 2 + 2.0 * hidden[:, 0] * hidden[:, 1]
cancelled = (cancel_logit + rng.logistic(0, 0.3, N) > 0).astype("float32")
duration = (900 + 220 * (X @ w_d) / np.sqrt(D) + 150 * hidden[:, 2] + rng.normal(0, 60, N)).astype("float32")

train = slice(0, 4000)
test = slice(4000, N)


class TripModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = keras.Sequential([
            layers.Dense(32, activation="relu"),
            layers.Dense(16, activation="relu"),
        ])
        self.cancel_head = layers.Dense(1)
        self.duration_head = layers.Dense(1)

    def call(self, x):
        h = self.trunk(x)
        return self.cancel_head(h)[:, 0], self.duration_head(h)[:, 0]


model = TripModel()
model(X[:2])
model.duration_head.bias.assign([float(duration[train].mean())])

optimizer = keras.optimizers.Adam(2e-3, clipnorm=1.0)
bce = keras.losses.BinaryCrossentropy(from_logits=True)
mse = keras.losses.MeanSquaredError()

dataset = (
    tf.data.Dataset.from_tensor_slices((X[train], cancelled[train], duration[train]))
    .shuffle(4000, seed=0)
    .batch(64)
)


@tf.function
def train_step(x, c, d):
    with tf.GradientTape() as tape:
        logit, pred = model(x, training=True)
        loss_c = bce(c, logit)
        loss_d = mse(d, pred)
        loss = loss_c + loss_d
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss, loss_c, loss_d


for epoch in range(25):
    sums = np.zeros(3)
    n = 0
    for batch in dataset:
        sums += [float(v) for v in train_step(*batch)]
        n += 1
    if epoch % 4 == 0:
        total, lc, ld = sums / n
        print(f"epoch {epoch:2d}  total {total:.3f}  cancel {lc:.4f}  duration {ld:.3f}")

logit, pred = model(X[test], training=False)
acc = ((logit.numpy() > 0) == (cancelled[test] > 0.5)).mean()
mae = np.abs(pred.numpy() - duration[test]).mean()
print(f"test cancel accuracy {acc:.4f}  duration MAE {mae:.1f} s")
