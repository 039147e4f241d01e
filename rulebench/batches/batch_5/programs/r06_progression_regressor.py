import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(3)

X, y = load_diabetes(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=3)
xs, ys = StandardScaler().fit(X_tr), StandardScaler().fit(y_tr.reshape(-1, 1))
X_tr, X_te = xs.transform(X_tr), xs.transform(X_te)
y_tr_s = ys.transform(y_tr.reshape(-1, 1))
y_te_s = ys.transform(y_te.reshape(-1, 1))


def build():
    inp = keras.Input((10,))
    h = inp
    for width in (32, 16):
        h = layers.Dense(width, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3))(h)
    out = layers.Dense(1, activation="relu")(h)
    return keras.Model(inp, out)


model = build()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(X_tr, y_tr_s, epochs=50, batch_size=16, validation_data=(X_te, y_te_s), verbose=2)

pred = ys.inverse_transform(model.predict(X_te, verbose=0))
print("RMSE  %.2f" % np.sqrt(np.mean((pred[:, 0] - y_te) ** 2)))
print("R2    %.3f" % r2_score(y_te, pred[:, 0]))
print("min prediction %.1f   min target %.1f" % (pred.min(), y_te.min()))
