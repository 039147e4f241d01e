import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# two inputs: a categorical store id and numeric features, sales as output
keras.utils.set_random_seed(111)
rng = np.random.default_rng(111)
n, STORES = 3000, 30
store = rng.integers(0, STORES, n)
effect = rng.normal(0, 1.5, STORES)
num = rng.normal(size=(n, 4)).astype("float32")
sales = effect[store] + num[:, 0] - 0.5 * num[:, 1] * num[:, 2] + 0.3 * rng.normal(size=n)
sales = sales.astype("float32")
tr, te = slice(0, 2400), slice(2400, n)

a = keras.Input((1,), dtype="int32", name="store")
b = keras.Input((4,), name="num")
ea = layers.Flatten()(layers.Embedding(STORES, 4)(a))
h = layers.Concatenate()([ea, b])
h = layers.Dense(64, activation="relu")(h)
h = layers.Dense(32, activation="relu")(h)
model = keras.Model([a, b], layers.Dense(1)(h))
model.compile(keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
model.fit({"store": store[tr, None], "num": num[tr]}, sales[tr], epochs=20, batch_size=64,
          validation_data=({"store": store[te, None], "num": num[te]}, sales[te]), verbose=2)
p = model.predict({"store": store[te, None], "num": num[te]}, verbose=0)[:, 0]
print("R2", 1 - ((p - sales[te]) ** 2).sum() / ((sales[te] - sales[te].mean()) ** 2).sum())
