import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(2)
X, y = make_friedman1(n_samples=1200, n_features=10, noise=1.0, random_state=2)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, random_state=2)
xs, ys = StandardScaler(), StandardScaler()
X_tr = xs.fit_transform(X_tr); X_te = xs.transform(X_te)
y_tr = ys.fit_transform(y_tr[:, None]); y_te = ys.transform(y_te[:, None])

model = keras.Sequential([
    keras.Input((10,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(1, activation="relu"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mean_squared_error")
model.fit(X_tr, y_tr, epochs=30, batch_size=32, validation_data=(X_te, y_te), verbose=2)
pred = ys.inverse_transform(model.predict(X_te, verbose=0))
true = ys.inverse_transform(y_te)
print("R2:", 1 - ((pred - true) ** 2).sum() / ((true - true.mean()) ** 2).sum())
