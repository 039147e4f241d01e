import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

# denoising autoencoder
keras.utils.set_random_seed(109)
clean = (load_digits().data / 16.0).astype("float32")
np.random.shuffle(clean)
noisy = np.clip(clean + 0.3 * np.random.randn(*clean.shape), 0, 1).astype("float32")
tr, te = slice(0, 1500), slice(1500, None)

inp = keras.Input((64,))
e = layers.Dense(96, activation="relu")(inp)
z = layers.Dense(24, activation="relu")(e)
dd = layers.Dense(96, activation="relu")(z)
out = layers.Dense(64, activation="sigmoid")(dd)
dae = keras.Model(inp, out)
dae.compile(keras.optimizers.Adam(2e-3), loss="binary_crossentropy", metrics=["mse"])
dae.fit(noisy[tr], clean[tr], epochs=25, batch_size=50, validation_data=(noisy[te], clean[te]), verbose=2)
r = dae.predict(noisy[te], verbose=0)
print("mse noisy %.4f  mse denoised %.4f" % (((noisy[te] - clean[te]) ** 2).mean(), ((r - clean[te]) ** 2).mean()))
