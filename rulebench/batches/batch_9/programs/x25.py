import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(107)
rng = np.random.default_rng(107)
t = np.arange(1500)
passengers = (100 + 0.08 * t) * (1 + 0.25 * np.sin(2 * np.pi * t / 30)) + rng.normal(0, 2, len(t))
log = np.log(passengers)
diff = np.diff(log)
cut = 1200
mu, sd = diff[:cut].mean(), diff[:cut].std()
z = ((diff - mu) / sd).astype("float32")
L = 30
X = np.lib.stride_tricks.sliding_window_view(z, L)[:-1][..., None]
y = z[L:]
Xtr, ytr, Xte, yte = X[:cut - L], y[:cut - L], X[cut - L:], y[cut - L:]

model = keras.Sequential([layers.Input((L, 1)), layers.GRU(24), layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), "mae")
# order of the windows stays within the training part, shuffling them is fine
model.fit(Xtr, ytr, epochs=12, batch_size=32, validation_data=(Xte, yte), verbose=2)
p = model.predict(Xte, verbose=0)[:, 0]
print("test mae %.3f, predicting the last difference %.3f, predicting zero %.3f" % (
    np.abs(p - yte).mean(), np.abs(Xte[:, -1, 0] - yte).mean(), np.abs(yte).mean()))
