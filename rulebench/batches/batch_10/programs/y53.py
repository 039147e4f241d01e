import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(106)
t = np.arange(1500)
series = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168) + 0.1 * np.random.randn(len(t))
split = 1200
lo, hi = series[:split].min(), series[:split].max()
s = (series - lo) / (hi - lo)
L = 24


def windows(a):
    X = np.lib.stride_tricks.sliding_window_view(a, L + 1)
    return X[:, :L, None].astype("float32"), X[:, L].astype("float32")


x_train, y_train = windows(s[:split])
x_test, y_test = windows(s[split:])
model = keras.Sequential([keras.Input((L, 1)), layers.LSTM(24), layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse")
model.fit(x_train, y_train, epochs=12, batch_size=32, validation_data=(x_test, y_test), verbose=2)
p = model.predict(x_test, verbose=0)[:, 0] * (hi - lo) + lo
truth = y_test * (hi - lo) + lo
print("RMSE model", np.sqrt(((p - truth) ** 2).mean()))
print("RMSE last value", np.sqrt(((x_test[:, -1, 0] * (hi - lo) + lo - truth) ** 2).mean()))
