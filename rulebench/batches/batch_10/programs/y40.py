import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import r2_score

keras.utils.set_random_seed(3)
X, y = make_friedman1(n_samples=1600, n_features=8, noise=0.5, random_state=3)
xs, ys = StandardScaler(), StandardScaler()
X_train = xs.fit_transform(X[:1200]); X_test = xs.transform(X[1200:])
y_train = ys.fit_transform(y[:1200, None]); y_test = ys.transform(y[1200:, None])


def build():
    inp = keras.Input((8,))
    x = inp
    for units in (64, 64, 32):
        x = layers.Dense(units, activation="relu")(x)
    out = layers.Dense(1, activation="relu", name="prediction")(x)
    return keras.Model(inp, out)


model = build()
model.compile(keras.optimizers.Adam(1e-3), loss="mse")
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=25, batch_size=32, verbose=2)
pred = ys.inverse_transform(model.predict(X_test, verbose=0))
print("R2 on test: %.3f" % r2_score(ys.inverse_transform(y_test), pred))
print("prediction range", pred.min(), pred.max(), "target range", y[1200:].min(), y[1200:].max())
