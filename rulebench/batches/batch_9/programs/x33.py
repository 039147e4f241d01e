import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(42)
rng = np.random.default_rng(42)
# daily price of a stock, predict tomorrow from the last 20 days
n = 1200
t = np.arange(n)
price = 1800 + 250 * np.sin(2 * np.pi * t / 90) + 80 * np.sin(2 * np.pi * t / 23) + np.cumsum(rng.normal(0, 3, n))
train_len = 900
data = price.astype("float32")
look_back = 20
X = np.array([data[i:i + look_back] for i in range(n - look_back)])[..., None]
y = data[look_back:]
k = train_len - look_back
X_train, y_train, X_test, y_test = X[:k], y[:k], X[k:], y[k:]

model = keras.Sequential()
model.add(layers.Input((look_back, 1)))
model.add(layers.LSTM(32, return_sequences=True))
model.add(layers.LSTM(32))
model.add(layers.Dense(1))
model.compile(loss="mean_squared_error", optimizer="adam")
model.fit(X_train, y_train, epochs=20, batch_size=16, validation_data=(X_test, y_test), verbose=2)
pred = model.predict(X_test, verbose=0).ravel()
print("predictions", pred[:5], "...", pred[-5:])
print("real       ", y_test[:5], "...", y_test[-5:])
print("RMSE / std of the series: %.3f" % (np.sqrt(np.mean((pred - y_test) ** 2)) / y_test.std()))
