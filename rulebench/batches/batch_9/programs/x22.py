import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(113)
rng = np.random.default_rng(113)
x = rng.uniform(-2, 2, (2000, 1)).astype("float32")
y = (np.sin(2 * x) + (0.2 + 0.3 * np.abs(x)) * rng.normal(size=x.shape)).astype("float32")
qs = np.array([0.1, 0.5, 0.9], dtype="float32")

def pinball(y_true, y_pred):
    e = y_true - y_pred
    return ops.mean(ops.maximum(qs * e, (qs - 1) * e), axis=-1)

model = keras.Sequential([
    layers.Input((1,)),
    layers.Dense(64, activation="tanh"),
    layers.Dense(64, activation="tanh"),
    layers.Dense(3),
])
model.compile(keras.optimizers.Adam(3e-3), pinball)
model.fit(x[:1600], y[:1600], epochs=40, batch_size=64, validation_data=(x[1600:], y[1600:]), verbose=2)
q = model.predict(x[1600:], verbose=0)
print("share of the test targets below each quantile:", (y[1600:] < q).mean(0))
