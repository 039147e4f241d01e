import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1

keras.utils.set_random_seed(103)
X, y = make_friedman1(1200, n_features=8, noise=0.5, random_state=3)
X = (X * np.array([1, 10, 100, 1, 1000, 5, 1, 1])).astype("float32")   # columns in their own units
X_train, y_train, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]

norm = layers.Normalization()
norm.adapt(X_train)
out_mean, out_std = y_train.mean(), y_train.std()
inp = keras.Input((8,))
h = norm(inp)
h = layers.Dense(64, activation="relu")(h)
h = layers.Dense(64, activation="relu")(h)
h = layers.Dense(1)(h)
out = layers.Rescaling(scale=float(out_std), offset=float(out_mean))(h)
model = keras.Model(inp, out)
model.compile(optimizer=keras.optimizers.Adam(0.002), loss="mse", metrics=["mae"])
model.fit(X_train, y_train, epochs=30, batch_size=32, validation_split=0.1, verbose=2)
pred = model.predict(X_test, verbose=0)[:, 0]
print("R2 on test", 1 - np.mean((pred - y_test) ** 2) / np.var(y_test))
