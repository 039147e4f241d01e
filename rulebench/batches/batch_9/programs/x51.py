import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(104)
x = load_digits().data.astype("float32") / 16.0
rng = np.random.default_rng(104)
rng.shuffle(x)
x_train, x_test = x[:1500], x[1500:]
noisy = lambda a: np.clip(a + rng.normal(0, 0.3, a.shape), 0, 1).astype("float32")
n_train, n_test = noisy(x_train), noisy(x_test)

inp = keras.Input((64,))
e = layers.Dense(64, activation="relu")(inp)
e = layers.Dense(24, activation="relu")(e)
d = layers.Dense(64, activation="relu")(e)
d = layers.Dense(64, activation="sigmoid")(d)
dae = keras.Model(inp, d)
dae.compile(optimizer="adam", loss="binary_crossentropy", metrics=["mse"])
dae.fit(n_train, x_train, epochs=30, batch_size=64, validation_data=(n_test, x_test), verbose=2)
print("noisy mse", ((n_test - x_test) ** 2).mean(), "denoised mse", ((dae.predict(n_test, verbose=0) - x_test) ** 2).mean())
