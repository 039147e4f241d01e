"""Rent model: numeric features plus an embedding for the district."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(111)
rng = np.random.default_rng(111)
n, D = 3000, 25
district = rng.integers(0, D, n)
effect = rng.normal(0, 3, D)
size = rng.uniform(20, 140, n)
floor = rng.integers(0, 9, n)
rent = 8 * size ** 0.9 + 20 * floor + 40 * effect[district] + rng.normal(0, 30, n)

num = np.stack([size, floor], 1)
tr = np.arange(n) < 2400
num = (num - num[tr].mean(0)) / num[tr].std(0)
m, s = rent[tr].mean(), rent[tr].std()
target = (rent - m) / s

i_num = keras.Input((2,), name="num")
i_dis = keras.Input((1,), dtype="int32", name="district")
e = layers.Flatten()(layers.Embedding(D, 4)(i_dis))
h = layers.Concatenate()([i_num, e])
h = layers.Dense(32, activation="relu")(h)
h = layers.Dense(32, activation="relu")(h)
model = keras.Model([i_num, i_dis], layers.Dense(1)(h))
model.compile(keras.optimizers.Adam(3e-3), "mse", metrics=["mae"])
model.fit([num[tr], district[tr][:, None]], target[tr], epochs=20, batch_size=64, verbose=2,
          validation_data=([num[~tr], district[~tr][:, None]], target[~tr]))
p = model.predict([num[~tr], district[~tr][:, None]], verbose=0).ravel() * s + m
print("MAE in euro: %.1f (std of rent %.1f)" % (np.abs(p - rent[~tr]).mean(), s))
