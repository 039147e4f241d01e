import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import pandas as pd
import keras
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

# ratings table
n_users, n_items = 150, 80
U = rng.normal(size=(n_users, 3)); V = rng.normal(size=(n_items, 3))
ub, ib = rng.normal(0, .5, n_users), rng.normal(0, .5, n_items)
u = rng.integers(0, n_users, 9000); i = rng.integers(0, n_items, 9000)
r = np.clip(3.3 + ub[u] + ib[i] + .5 * (U[u] * V[i]).sum(1) + rng.normal(0, .2, 9000), 1, 5)
df = pd.DataFrame({"user": [f"u{k}" for k in u], "item": [f"i{k}" for k in i], "rating": r})
df = df.drop_duplicates(["user", "item"]).reset_index(drop=True)

train = df.sample(frac=0.85, random_state=0)
test = df.drop(train.index)

train_u, users = pd.factorize(train["user"])
train_i, items = pd.factorize(train["item"])
test_u, _ = pd.factorize(test["user"])
test_i, _ = pd.factorize(test["item"])

ui, ii = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
reg = keras.regularizers.L2(1e-5)
eu = layers.Flatten()(layers.Embedding(len(users), 8, embeddings_regularizer=reg)(ui))
ei = layers.Flatten()(layers.Embedding(len(items), 8, embeddings_regularizer=reg)(ii))
bu = layers.Flatten()(layers.Embedding(len(users), 1)(ui))
bi = layers.Flatten()(layers.Embedding(len(items), 1)(ii))
dot = layers.Dot(axes=1)([eu, ei])
out = layers.Add()([dot, bu, bi])
model = keras.Model([ui, ii], out)
model.compile(keras.optimizers.Adam(5e-3), "mse")

mean = train["rating"].mean()
model.fit([train_u, train_i], (train["rating"] - mean).to_numpy(), batch_size=128,
          epochs=25, validation_data=([test_u, test_i], (test["rating"] - mean).to_numpy()), verbose=2)

pred = model.predict([test_u, test_i], verbose=0).ravel() + mean
rmse = np.sqrt(np.mean((pred - test["rating"].to_numpy()) ** 2))
print("test RMSE", rmse, " baseline (mean):", test["rating"].std())
