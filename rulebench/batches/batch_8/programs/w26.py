import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

# denoising autoencoder on the 8x8 digits
x = (load_digits().data / 16.0).astype("float32")
rng = np.random.default_rng(80)
noisy = np.clip(x + rng.normal(0, 0.3, x.shape), 0, 1).astype("float32")
keras.utils.set_random_seed(80)
dae = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(96, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(96, activation="relu"),
    layers.Dense(64, activation="sigmoid"),
])
dae.compile("adam", "binary_crossentropy", metrics=["mse"])
dae.fit(noisy[:1500], x[:1500], epochs=30, batch_size=32, validation_data=(noisy[1500:], x[1500:]), verbose=2)
r = dae.predict(noisy[1500:], verbose=0)
print("mse noisy", ((noisy[1500:] - x[1500:]) ** 2).mean(), "mse cleaned", ((r - x[1500:]) ** 2).mean())
