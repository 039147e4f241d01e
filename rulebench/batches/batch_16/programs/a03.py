import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score, mean_absolute_error
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(7)

X, y = load_diabetes(return_X_y=True)
y = y.reshape(-1, 1)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=1)

x_scaler, y_scaler = StandardScaler(), StandardScaler()
X_tr = x_scaler.fit_transform(X_tr)
X_te = x_scaler.transform(X_te)
y_tr = y_scaler.fit_transform(y_tr)

inp = keras.Input((10,))
h = layers.Dense(32, activation="relu")(inp)
h = layers.Dense(16, activation="relu")(h)
out = layers.Dense(1, activation="relu")(h)
model = keras.Model(inp, out)

model.compile("adam", "mse", metrics=["mae"])
model.fit(X_tr, y_tr, epochs=25, batch_size=16, verbose=2)

pred = y_scaler.inverse_transform(model.predict(X_te, verbose=0))
print("MAE", mean_absolute_error(y_te, pred))
print("R2", r2_score(y_te, pred))
print("predictions range", pred.min(), pred.max(), "targets", y_te.min(), y_te.max())
