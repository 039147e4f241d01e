import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split
from sklearn.metrics import r2_score, mean_absolute_error

keras.utils.set_random_seed(1)
X, y = load_diabetes(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=11)

xs, ys = StandardScaler().fit(X_tr), StandardScaler().fit(y_tr[:, None])
X_tr, X_te = xs.transform(X_tr), xs.transform(X_te)
t_tr = ys.transform(y_tr[:, None])

model = keras.Sequential()
model.add(keras.Input((10,)))
model.add(keras.layers.Dense(24, activation="relu"))
model.add(keras.layers.Dense(12, activation="relu"))
model.add(keras.layers.Dense(1, activation="relu"))
model.compile(loss="mse", optimizer=keras.optimizers.Adam(1e-3), metrics=["mae"])

es = keras.callbacks.EarlyStopping(monitor="val_loss", patience=15, restore_best_weights=True)
model.fit(X_tr, t_tr, epochs=80, batch_size=16, validation_split=0.15,
          callbacks=[es], verbose=2)

p = ys.inverse_transform(model.predict(X_te, verbose=0)).ravel()
print("R2 :", r2_score(y_te, p))
print("MAE:", mean_absolute_error(y_te, p))
print("min/max pred:", p.min(), p.max(), " min/max true:", y_te.min(), y_te.max())
