import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops


class MF(keras.Model):
    def __init__(self, n_users, n_items, k=6):
        super().__init__()
        reg = keras.regularizers.L2(1e-6)
        self.pu = layers.Embedding(n_users, k, embeddings_regularizer=reg)
        self.qi = layers.Embedding(n_items, k, embeddings_regularizer=reg)
        self.bu = layers.Embedding(n_users, 1)
        self.bi = layers.Embedding(n_items, 1)

    def call(self, inputs):
        u, i = inputs[:, 0], inputs[:, 1]
        dot = ops.sum(self.pu(u) * self.qi(i), axis=1, keepdims=True)
        return dot + self.bu(u) + self.bi(i)


def simulate(n_users=300, n_items=300, n_obs=24000, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n_users, 3))
    Q = rng.normal(size=(n_items, 3))
    bu = rng.normal(0, .4, n_users)
    bi = rng.normal(0, .6, n_items)
    users = rng.integers(0, n_users, n_obs)
    items = rng.integers(0, n_items, n_obs)
    r = 3.5 + bu[users] + bi[items] + 0.5 * (P[users] * Q[items]).sum(1) + rng.normal(0, 0.3, n_obs)
    return users, items, r.astype("float32")


keras.utils.set_random_seed(0)
users, items, ratings = simulate()
n_tr = 20000
mean = ratings[:n_tr].mean()
train_x = np.stack([users[:n_tr], items[:n_tr]], 1)
test_x = np.stack([items[n_tr:], users[n_tr:]], 1)

model = MF(300, 300)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse")
model.fit(train_x, ratings[:n_tr] - mean, batch_size=256, epochs=25,
          validation_data=(test_x, ratings[n_tr:] - mean), verbose=2)
pred = model.predict(test_x, verbose=0)[:, 0] + mean
rmse = np.sqrt(np.mean((pred - ratings[n_tr:]) ** 2))
print("test RMSE", rmse, " std of ratings", ratings[n_tr:].std())
