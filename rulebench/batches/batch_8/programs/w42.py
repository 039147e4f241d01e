import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# one network, two answers: kind of the peak (3 kinds) and its position
keras.utils.set_random_seed(33)
rng = np.random.default_rng(33)
n, L = 2500, 50
pos = rng.uniform(10, 40, n)
kind = rng.integers(0, 3, n)
width = np.array([1.0, 2.5, 5.0])[kind]
grid = np.arange(L)
sig = np.exp(-0.5 * ((grid - pos[:, None]) / width[:, None]) ** 2) + rng.normal(0, 0.1, (n, L))
sig = sig[..., None].astype("float32")
target_pos = ((pos - 25) / 15).astype("float32")

inp = keras.Input((L, 1))
h = layers.Conv1D(16, 5, activation="relu", padding="same")(inp)
h = layers.Conv1D(16, 5, activation="relu", padding="same", strides=2)(h)
h = layers.Flatten()(h)
h = layers.Dense(48, activation="relu")(h)
k = layers.Dense(3, activation="softmax", name="kind")(h)
p = layers.Dense(1, name="pos")(h)
model = keras.Model(inp, {"kind": k, "pos": p})
model.compile("adam", loss={"kind": "sparse_categorical_crossentropy", "pos": "mse"},
              loss_weights={"kind": 1.0, "pos": 2.0}, metrics={"kind": "accuracy", "pos": "mae"})
tr, te = slice(0, 2000), slice(2000, None)
model.fit(sig[tr], {"kind": kind[tr], "pos": target_pos[tr]}, epochs=12, batch_size=50,
          validation_data=(sig[te], {"kind": kind[te], "pos": target_pos[te]}), verbose=2)
