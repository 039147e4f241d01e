import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
# energy use against temperature, wind, hour; training winter to autumn, test: the last weeks
n = 2000
day = np.arange(n) / n
temp = 12 - 12 * np.cos(2 * np.pi * day) + rng.normal(0, 3, n)
wind = rng.gamma(2, 2, n)
hour = rng.integers(0, 24, n)
use = 40 - 1.2 * temp + 0.8 * wind + 6 * np.sin(hour / 24 * 2 * np.pi) + rng.normal(0, 1.5, n)
X = np.stack([temp, wind, np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi)], 1)
X_train, X_test = X[:1700], X[1700:]
y_train, y_test = use[:1700], use[1700:]

scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.fit_transform(X_test)
y_mean, y_std = y_train.mean(), y_train.std()

model = keras.Sequential([
    layers.Input((4,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(0.003), loss="mse")
model.fit(X_train, (y_train - y_mean) / y_std, epochs=20, batch_size=32, verbose=2,
          validation_data=(X_test, (y_test - y_mean) / y_std))
for name, a, b in [("train", X_train, y_train), ("test", X_test, y_test)]:
    p = model.predict(a, verbose=0).ravel() * y_std + y_mean
    print(name, "MAE %.2f kWh" % np.abs(p - b).mean())
