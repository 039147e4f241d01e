import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_friedman2
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(30)
X, y = make_friedman2(n_samples=1500, noise=40, random_state=30)
print("target range", y.min(), y.max())
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=30)
sx = StandardScaler().fit(X_tr)
sy = StandardScaler().fit(y_tr.reshape(-1, 1))

inputs = keras.Input((4,))
h = layers.Dense(64, activation="gelu")(inputs)
h = layers.Dense(64, activation="gelu")(h)
outputs = layers.Dense(1)(h)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.AdamW(2e-3, weight_decay=1e-4), loss=keras.losses.Huber())
model.fit(sx.transform(X_tr), sy.transform(y_tr.reshape(-1, 1)), epochs=25, batch_size=32, verbose=2,
          validation_split=0.1)
pred = sy.inverse_transform(model.predict(sx.transform(X_te), verbose=0)).ravel()
print("MAE", np.abs(pred - y_te).mean(), " R2", 1 - np.var(pred - y_te) / np.var(y_te))
