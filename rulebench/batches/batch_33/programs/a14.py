import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# Two-input model: customer attributes (numeric) + shop id (categorical) -> basket value
seed = 9
keras.utils.set_random_seed(seed)
rng = np.random.default_rng(seed)

N, SHOPS = 8000, 40
num = rng.normal(size=(N, 6)).astype("float32")
shop = rng.integers(0, SHOPS, N)
effect = rng.normal(0, 1.2, SHOPS)
y = 2 * np.tanh(num[:, 0]) + num[:, 1] * num[:, 2] + effect[shop] + 0.3 * rng.normal(size=N)
y = y.astype("float32")

cut1, cut2 = int(.7 * N), int(.85 * N)
parts = [slice(0, cut1), slice(cut1, cut2), slice(cut2, N)]
mean, std = y[parts[0]].mean(), y[parts[0]].std()
ys = (y - mean) / std

a = keras.Input((6,), name="num")
b = keras.Input((), dtype="int32", name="shop")
e = layers.Embedding(SHOPS, 6)(b)
h = layers.Concatenate()([a, e])
h = layers.Dense(64, activation="relu")(h)
h = layers.Dense(32, activation="relu")(h)
o = layers.Dense(1)(h)
model = keras.Model({"num": a, "shop": b}, o)
model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])


def feed(p):
    return {"num": num[p], "shop": shop[p]}


cbs = [keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True, monitor="val_loss"),
       keras.callbacks.ReduceLROnPlateau(factor=0.5, patience=3)]
model.fit(feed(parts[0]), ys[parts[0]], validation_data=(feed(parts[1]), ys[parts[1]]),
          epochs=30, batch_size=64, callbacks=cbs, verbose=2)

pred = model.predict(feed(parts[2]), verbose=0)[:, 0] * std + mean
t = y[parts[2]]
print("test RMSE %.3f  R2 %.4f" % (np.sqrt(np.mean((pred - t) ** 2)), 1 - np.mean((pred - t) ** 2) / t.var()))
