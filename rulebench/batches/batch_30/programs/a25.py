"""Electricity demand of a town from the weather of the last days (LSTM on windows of 10 days)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import mean_absolute_error

keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)

# three years of daily data
n = 1095
t = np.arange(n)
temp = 13 - 11 * np.cos(2 * np.pi * (t - 20) / 365) + np.convolve(rng.normal(size=n + 4), np.ones(5) / 5, "valid") * 5
wind = rng.gamma(3, 1.5, n)
workday = (t % 7 < 5).astype(float)
slow = np.convolve(temp, [0.5, 0.3, 0.2])[:n]          # houses follow the weather with a delay
demand = (40 + 2.2 * np.maximum(16 - slow, 0) + 1.6 * np.maximum(slow - 22, 0)
          + 0.5 * wind + 7 * workday + 1.0 * rng.normal(size=n))

X = np.stack([temp, wind, workday], axis=1)
y = demand.reshape(-1, 1)

split = n - 150
X_train, X_test, y_train, y_test = X[:split], X[split:], y[:split], y[split:]

x_scaler, y_scaler = StandardScaler(), StandardScaler()
y_train = y_scaler.fit_transform(y_train)
y_test = y_scaler.transform(y_test)
X_train = x_scaler.fit_transform(X_train)
X_test = x_scaler.fit_transform(X_test)

WINDOW = 10


def windows(a, b):
    xs = np.stack([a[i - WINDOW + 1:i + 1] for i in range(WINDOW - 1, len(a))])
    return xs.astype("float32"), b[WINDOW - 1:].astype("float32")


X_train, y_train = windows(X_train, y_train)
X_test, y_test = windows(X_test, y_test)
print(X_train.shape, X_test.shape)

model = keras.Sequential([
    layers.Input((WINDOW, 3)),
    layers.LSTM(32),
    layers.Dense(16, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
model.fit(X_train, y_train, epochs=25, batch_size=32, validation_data=(X_test, y_test), verbose=2)

pred = y_scaler.inverse_transform(model.predict(X_test, verbose=0))
true = y_scaler.inverse_transform(y_test)
print("MAE on the last 150 days: %.2f MW (mean demand %.1f MW)" % (mean_absolute_error(true, pred), true.mean()))
