"""Matrix factorisation for ratings, Keras 3 on torch, plain SGD."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(19)

USERS, ITEMS, RANK = 300, 150, 4
rng = np.random.default_rng(19)
P = rng.normal(0, 0.7, (USERS, RANK))
Q = rng.normal(0, 0.7, (ITEMS, RANK))
bu, bi = rng.normal(0, 0.4, USERS), rng.normal(0, 0.4, ITEMS)
n_obs = 20000
u = rng.integers(0, USERS, n_obs)
i = rng.integers(0, ITEMS, n_obs)
r = 3.5 + bu[u] + bi[i] + (P[u] * Q[i]).sum(1) + rng.normal(0, 0.4, n_obs)
r = r.astype("float32")

split = int(0.9 * n_obs)
mean_rating = float(r[:split].mean())


class MF(keras.Model):
    def __init__(self, rank):
        super().__init__()
        init = keras.initializers.RandomNormal(stddev=0.3)
        self.user = layers.Embedding(USERS, rank, embeddings_initializer=init)
        self.item = layers.Embedding(ITEMS, rank, embeddings_initializer=init)
        self.user_bias = layers.Embedding(USERS, 1, embeddings_initializer="zeros")
        self.item_bias = layers.Embedding(ITEMS, 1, embeddings_initializer="zeros")

    def call(self, inputs):
        u, i = inputs[:, 0], inputs[:, 1]
        dot = ops.sum(self.user(u) * self.item(i), axis=-1, keepdims=True)
        return mean_rating + dot + self.user_bias(u) + self.item_bias(i)


pairs = np.stack([u, i], 1).astype("int32")
model = MF(RANK)
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=8.0),
    loss="mse",
    metrics=[keras.metrics.RootMeanSquaredError(name="rmse")],
)
model.fit(
    pairs[:split], r[:split, None],
    validation_data=(pairs[split:], r[split:, None]),
    batch_size=256,
    epochs=20,
    callbacks=[keras.callbacks.LearningRateScheduler(lambda e, lr: 8.0 if e < 12 else 2.0)],
    verbose=2,
)
pred = model.predict(pairs[split:], verbose=0)[:, 0]
print("test RMSE:", np.sqrt(np.mean((pred - r[split:]) ** 2)))
print("global-mean RMSE:", np.sqrt(np.mean((mean_rating - r[split:]) ** 2)))
