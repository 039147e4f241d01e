import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(11)

X, y = make_friedman1(n_samples=2500, n_features=10, noise=0.7, random_state=4)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.2, random_state=4)

sx, sy = StandardScaler(), StandardScaler()
Xtr = sx.fit_transform(Xtr)
Xte = sx.transform(Xte)
ytr_s = sy.fit_transform(ytr.reshape(-1, 1))

inp = keras.Input((10,))
h = layers.Dense(64, activation="relu")(inp)
h = layers.Dense(64, activation="relu")(h)
out = layers.Dense(1, activation="relu")(h)
model = keras.Model(inp, out)

model.compile(keras.optimizers.Adam(2e-3), loss="mse")
model.fit(Xtr, ytr_s, epochs=40, batch_size=64, validation_split=0.15, verbose=2)

p = sy.inverse_transform(model.predict(Xte, verbose=0)).ravel()
rmse = float(np.sqrt(np.mean((p - yte) ** 2)))
r2 = 1 - np.sum((p - yte) ** 2) / np.sum((yte - yte.mean()) ** 2)
print(f"test RMSE {rmse:.3f}   R2 {r2:.3f}")
print("range of predictions", p.min(), p.max(), " of targets", yte.min(), yte.max())
