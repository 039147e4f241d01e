# Denoising autoencoder
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras.layers import Input, Dense
from keras.models import Model
from sklearn.datasets import load_digits

keras.utils.set_random_seed(4)
X = load_digits().data.astype("float32") / 16.0
rng = np.random.default_rng(4)
noisy = np.clip(X + rng.normal(0, 0.25, X.shape), 0, 1).astype("float32")
x_tr, x_te, n_tr, n_te = X[:1500], X[1500:], noisy[:1500], noisy[1500:]

inp = Input((64,))
code = Dense(64, activation="relu")(inp)
code = Dense(24, activation="relu")(code)
out = Dense(64, activation="relu")(code)
out = Dense(64, activation="sigmoid")(out)
auto = Model(inp, out)
auto.compile(optimizer="adam", loss="binary_crossentropy")
auto.fit(n_tr, x_tr, epochs=40, batch_size=32, shuffle=True, validation_data=(n_te, x_te), verbose=2)
rec = auto.predict(n_te, verbose=0)
print("mse noisy   :", ((n_te - x_te) ** 2).mean())
print("mse denoised:", ((rec - x_te) ** 2).mean())
