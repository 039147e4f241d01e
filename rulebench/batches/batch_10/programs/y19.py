import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# regression with 8% gross outliers in the training labels
keras.utils.set_random_seed(112)
rng = np.random.default_rng(112)
X = rng.uniform(-2, 2, (2000, 3)).astype("float32")
f = np.sin(1.5 * X[:, 0]) * 2 + X[:, 1] ** 2 - X[:, 2]
y = (f + 0.2 * rng.normal(size=2000)).astype("float32")
bad = rng.random(1500) < 0.08
y_train = y[:1500].copy()
y_train[bad] += rng.normal(0, 25, bad.sum())

model = keras.Sequential([
    keras.Input((3,)),
    layers.Dense(64, activation="swish"),
    layers.Dense(64, activation="swish"),
    layers.Dense(1),
])
model.compile(keras.optimizers.Adam(3e-3), loss=keras.losses.Huber(delta=0.5), metrics=["mae"])
lr_cb = keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=3, min_lr=1e-4)
model.fit(X[:1500], y_train, epochs=30, batch_size=32, callbacks=[lr_cb],
          validation_data=(X[1500:], y[1500:]), verbose=2)
p = model.predict(X[1500:], verbose=0)[:, 0]
print("clean test rmse", np.sqrt(((p - f[1500:]) ** 2).mean()), "std", f.std())
