import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

# three quantiles at once with the pinball loss
QS = np.array([0.1, 0.5, 0.9], "float32")


def pinball(y_true, y_pred):
    e = y_true - y_pred
    return ops.mean(ops.maximum(QS * e, (QS - 1) * e), axis=-1)


rng = np.random.default_rng(140)
x = rng.uniform(-3, 3, (4000, 1)).astype("float32")
y = (np.sin(x) + (0.1 + 0.2 * np.abs(x)) * rng.normal(size=x.shape)).astype("float32")
keras.utils.set_random_seed(140)
model = keras.Sequential([keras.Input((1,)), layers.Dense(48, activation="tanh"),
                          layers.Dense(48, activation="tanh"), layers.Dense(3)])
model.compile(keras.optimizers.Adam(3e-3), loss=pinball)
model.fit(x[:3200], y[:3200], batch_size=64, epochs=25, validation_data=(x[3200:], y[3200:]), verbose=2)
q = model.predict(x[3200:], verbose=0)
print("coverage below each quantile", (y[3200:] < q).mean(0), "wanted", QS)
