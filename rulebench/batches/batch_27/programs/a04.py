import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras.layers import LSTM, Dense

keras.utils.set_random_seed(77)

# daily electricity demand: week + year seasonality, AR noise
T = 1500
t = np.arange(T)
noise = np.zeros(T)
for k in range(1, T):
    noise[k] = 0.7 * noise[k - 1] + np.random.randn() * 2
demand = 100 + 12 * np.sin(2 * np.pi * t / 365) + 15 * (t % 7 < 5) + noise

train_end = 1200
mean, std = demand[:train_end].mean(), demand[:train_end].std()
z = ((demand - mean) / std).astype("float32")

WINDOW = 21
def windows(lo, hi):
    X = np.stack([z[i - WINDOW:i] for i in range(lo, hi)])[..., None]
    return X, z[lo:hi, None]

X_train, y_train = windows(WINDOW, train_end)
X_test, y_test = windows(train_end, T)
print(X_train.shape, X_test.shape)

model = keras.Sequential([keras.Input((WINDOW, 1)), LSTM(24), Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(5e-3, clipnorm=1.0), loss="mse")
model.fit(X_train, y_train, epochs=14, batch_size=32, verbose=2, validation_data=(X_test, y_test))

pred = model.predict(X_test, verbose=0)[:, 0] * std + mean
actual = demand[train_end:]
print("MAE model          : %.2f" % np.abs(pred - actual).mean())
print("MAE same as last wk: %.2f" % np.abs(demand[train_end - 7:T - 7] - actual).mean())
print("MAE yesterday      : %.2f" % np.abs(demand[train_end - 1:T - 1] - actual).mean())
