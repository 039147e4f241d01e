import os
os.environ["KERAS_BACKEND"] = "jax"
# Variable-length sequences: is the running sum of the +-1 steps ever above 4?   (padded with 0, Masking layer)
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(23)
rng = np.random.default_rng(23)
T = 24


def walks(n):
    x = np.zeros((n, T, 1), "float32")
    y = np.zeros(n)
    for i in range(n):
        k = rng.integers(8, T + 1)
        s = rng.choice([-1.0, 1.0], k, p=[0.42, 0.58])
        x[i, :k, 0] = s
        y[i] = np.cumsum(s).max() > 4
    return x, y


x, y = walks(4000)
xv, yv = walks(800)
print("positive share", y.mean())
model = keras.Sequential([
    layers.Input((T, 1)),
    layers.Masking(0.0),
    layers.GRU(24, recurrent_dropout=0.0),
    layers.Dropout(0.5),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(5e-3, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, validation_data=(xv, yv), epochs=12, batch_size=64, verbose=2)
