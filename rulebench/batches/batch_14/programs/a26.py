import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.linear_model import Ridge
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

# prices are skewed -> work in log space. The net learns what the linear model leaves over.
keras.utils.set_random_seed(5)
X, f = make_friedman1(3000, n_features=8, noise=0.5, random_state=5)
price = np.exp(f / 8 + 10)
X_tr, X_te, p_tr, p_te = train_test_split(X, price, test_size=0.2, random_state=5)
y_tr, y_te = np.log1p(p_tr), np.log1p(p_te)
mu, sd = X_tr.mean(0), X_tr.std(0)
X_tr, X_te = (X_tr - mu) / sd, (X_te - mu) / sd

lin = Ridge().fit(X_tr, y_tr)
res = y_tr - lin.predict(X_tr)

inp = keras.Input((8,))
h = layers.Dense(64, activation="swish")(inp)
h = layers.Dense(64, activation="swish")(h)
out = layers.Dense(1, kernel_initializer="zeros")(h)   # start from the linear model
net = keras.Model(inp, out)
net.compile(keras.optimizers.AdamW(2e-3, weight_decay=1e-3), keras.losses.Huber(0.5))
net.fit(X_tr, res, epochs=30, batch_size=64, validation_split=0.1, verbose=2)

def mape(p):
    return np.mean(np.abs(p - p_te) / p_te)

base = np.expm1(lin.predict(X_te))
full = np.expm1(lin.predict(X_te) + net.predict(X_te, verbose=0).ravel())
print("MAPE linear %.4f   linear+net %.4f" % (mape(base), mape(full)))
