import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler, MinMaxScaler

keras.utils.set_random_seed(5)
X = load_digits().data.astype("float32")
X_train, X_test = X[:1400], X[1400:]
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

inp = layers.Input((64,))
h = layers.Dense(48, activation="relu")(inp)
code = layers.Dense(16, activation="relu", name="code")(h)
h = layers.Dense(48, activation="relu")(code)
out = layers.Dense(64, activation="sigmoid")(h)
autoencoder = keras.Model(inp, out)
autoencoder.compile(optimizer="adam", loss="mse")
autoencoder.fit(X_train, X_train, epochs=40, batch_size=64, shuffle=True, validation_data=(X_test, X_test), verbose=2)

rec = autoencoder.predict(X_test, verbose=0)
var = ((X_test - X_test.mean(0)) ** 2).mean()
print("reconstruction mse %.4f, variance of the data %.4f, explained %.3f" % (
    ((rec - X_test) ** 2).mean(), var, 1 - ((rec - X_test) ** 2).mean() / var))
