import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import r2_score

# my net should beat linear regression on the diabetes data but it does not, why?
keras.utils.set_random_seed(1)
X, y = load_diabetes(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=3)

xs = StandardScaler().fit(X_tr)
ys = StandardScaler().fit(y_tr.reshape(-1, 1))
X_tr, X_te = xs.transform(X_tr), xs.transform(X_te)
y_tr_s = ys.transform(y_tr.reshape(-1, 1))

model = keras.Sequential([
    keras.Input((X.shape[1],)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="relu"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(X_tr, y_tr_s, epochs=40, batch_size=16, validation_split=0.1, verbose=2)

pred = ys.inverse_transform(model.predict(X_te, verbose=0)).ravel()
print("R2 on test:", round(r2_score(y_te, pred), 3))
print("min / max prediction:", pred.min(), pred.max())
print("min / max target:", y_te.min(), y_te.max())
