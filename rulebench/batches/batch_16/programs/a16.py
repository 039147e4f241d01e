import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import pandas as pd
import keras
from keras import layers

# matrix factorisation for movie ratings
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

n_users, n_items, dim = 200, 120, 3
U = rng.normal(0, 0.6, (n_users, dim))
V = rng.normal(0, 0.6, (n_items, dim))
bu = rng.normal(0, 0.7, n_users)
bi = rng.normal(0, 0.4, n_items)

rows = []
for u in range(n_users):
    for i in rng.choice(n_items, 50, replace=False):
        r = 3.3 + bu[u] + bi[i] + U[u] @ V[i] + rng.normal(0, 0.3)
        rows.append((u, i, np.clip(r, 0.5, 5)))
ratings = pd.DataFrame(rows, columns=["user", "item", "rating"])
ratings = ratings.sort_values(["user", "item"]).reset_index(drop=True)
print(ratings.head())

user_in = keras.Input((1,), dtype="int32", name="user")
item_in = keras.Input((1,), dtype="int32", name="item")
reg = keras.regularizers.l2(1e-5)
ue = layers.Flatten()(layers.Embedding(n_users, 8, embeddings_regularizer=reg)(user_in))
ie = layers.Flatten()(layers.Embedding(n_items, 8, embeddings_regularizer=reg)(item_in))
ub = layers.Flatten()(layers.Embedding(n_users, 1)(user_in))
ib = layers.Flatten()(layers.Embedding(n_items, 1)(item_in))
dot = layers.Dot(axes=1)([ue, ie])
out = layers.Dense(1, bias_initializer=keras.initializers.Constant(3.3))(layers.Concatenate()([dot, ub, ib]))

model = keras.Model([user_in, item_in], out)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse",
              metrics=[keras.metrics.RootMeanSquaredError()])
hist = model.fit([ratings["user"].values, ratings["item"].values], ratings["rating"].values,
                 batch_size=128, epochs=10, validation_split=0.2, verbose=2)

print("train rmse", hist.history["root_mean_squared_error"][-1])
print("val rmse  ", hist.history["val_root_mean_squared_error"][-1])
print("std of ratings", ratings["rating"].std())
