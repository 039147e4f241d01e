import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# LSTM tutorial: next value of a noisy sum of sines
SEED = 28
keras.utils.set_random_seed(SEED)
t = np.arange(3000)
series = np.sin(0.1 * t) + 0.5 * np.sin(0.23 * t + 1) + 0.1 * np.random.normal(size=len(t))
split = 2400
mean, std = series[:split].mean(), series[:split].std()
series = ((series - mean) / std).astype("float32")
W = 20


def make(s):
    X = np.stack([s[i:i + W] for i in range(len(s) - W)])
    return X[..., None], s[W:]


X_train, y_train = make(series[:split])
X_test, y_test = make(series[split:])

model = keras.Sequential([layers.Input((W, 1)), layers.LSTM(24), layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse")
model.fit(X_train, y_train, epochs=10, batch_size=32, validation_split=0.1, verbose=2)
pred = model.predict(X_test, verbose=0)[:, 0]
print("persistence RMSE: %.4f" % np.sqrt(np.mean((X_test[:, -1, 0] - y_test) ** 2)))
print("LSTM RMSE: %.4f" % np.sqrt(np.mean((pred - y_test) ** 2)))
