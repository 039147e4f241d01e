import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
t = np.arange(1200)
series = 20 + 8 * np.sin(2 * np.pi * t / 24) + 3 * np.sin(2 * np.pi * t / 168) + rng.normal(0, 0.5, len(t))
split = 900
mean, std = series[:split].mean(), series[:split].std()
series = (series - mean) / std

def window(data, look_back=24):
    X, y = [], []
    for i in range(len(data) - look_back):
        X.append(data[i:i + look_back])
        y.append(data[i + look_back])
    return np.array(X, dtype="float32")[..., None], np.array(y, dtype="float32")

trainX, trainY = window(series[:split])
testX, testY = window(series[split:])

model = keras.Sequential([
    layers.Input((24, 1)),
    layers.LSTM(24),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="relu"),
])
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.Adam(0.005))
model.fit(trainX, trainY, epochs=20, batch_size=32, validation_data=(testX, testY), verbose=2)
pred = model.predict(testX, verbose=0).ravel() * std + mean
true = testY * std + mean
print("test RMSE in degrees:", np.sqrt(np.mean((pred - true) ** 2)))
print("min/max predicted", pred.min(), pred.max(), "min/max true", true.min(), true.max())
