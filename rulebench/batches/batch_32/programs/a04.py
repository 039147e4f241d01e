import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

SEED = 4
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

x = (load_digits().data / 16.0).astype("float32")
rng.shuffle(x)
x_train, x_test = x[:1400], x[1400:]


def corrupt(a):
    keep = rng.random(a.shape) > 0.3
    return (a * keep).astype("float32")


noisy_train = np.concatenate([corrupt(x_train) for _ in range(4)])
clean_train = np.tile(x_train, (4, 1))
noisy_test = corrupt(x_test)

inp = keras.Input((64,))
h = layers.Dense(128, activation="relu")(inp)
h = layers.Dense(32, activation="relu")(h)
h = layers.Dense(128, activation="relu")(h)
out = layers.Dense(64, activation="sigmoid")(h)
dae = keras.Model(inp, out)
dae.compile(optimizer="adam", loss="binary_crossentropy")

dae.fit(noisy_train, clean_train, epochs=40, batch_size=64, verbose=2,
        validation_data=(noisy_test, x_test))

rec = dae.predict(noisy_test, verbose=0)
mse0 = float(((noisy_test - x_test) ** 2).mean())
mse1 = float(((rec - x_test) ** 2).mean())
print(f"pixel MSE  corrupted input: {mse0:.4f}   after denoising: {mse1:.4f}")
