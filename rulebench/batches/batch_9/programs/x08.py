import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# sanity check: can the network memorise one batch?
keras.utils.set_random_seed(112)
rng = np.random.default_rng(112)
x = rng.normal(size=(32, 20)).astype("float32")
y = rng.integers(0, 4, 32)
model = keras.Sequential([
    layers.Input((20,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(4, activation="softmax"),
])
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(x, y, batch_size=32, epochs=120, verbose=0)
for e in (0, 10, 30, 60, 119):
    print(e, h.history["loss"][e], h.history["accuracy"][e])
assert h.history["accuracy"][-1] == 1.0
print("the batch is memorised, the pipeline works")
