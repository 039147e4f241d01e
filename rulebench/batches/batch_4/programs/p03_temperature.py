# Forecast the temperature of the next hour from the last 24 hours of
# temperature, pressure and humidity with an LSTM.
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.preprocessing import MinMaxScaler

SEED = 42
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

LOOK_BACK = 24
N = 1600

# ---- synthetic weather -------------------------------------------------
t = np.arange(N)
front = np.zeros(N)
for i in range(1, N):
    front[i] = 0.97 * front[i - 1] + rng.normal(0, 0.3)
temp = 12 + 6 * np.sin(2 * np.pi * t / 24) + 2.5 * front + rng.normal(0, 0.3, N)
pres = 1013 - 4 * np.roll(front, -3) + rng.normal(0, 0.5, N)
humi = 60 - 12 * np.sin(2 * np.pi * t / 24 + 0.6) + rng.normal(0, 2.0, N)
series = np.stack([temp, pres, humi], axis=1)

split = int(N * 0.8)
scaler = MinMaxScaler()
scaler.fit(series[:split])
scaled = scaler.transform(series)


def windows(col):
    """all the windows of one column, shape (samples, LOOK_BACK)"""
    return np.array([col[i:i + LOOK_BACK] for i in range(len(col) - LOOK_BACK)])


def create_dataset(arr):
    X = np.array([windows(arr[:, k]) for k in range(arr.shape[1])])
    # LSTM wants [samples, time steps, features]
    X = np.reshape(X, (X.shape[1], LOOK_BACK, arr.shape[1]))
    y = arr[LOOK_BACK:, 0]
    return X, y


trainX, trainY = create_dataset(scaled[:split])
testX, testY = create_dataset(scaled[split:])
print(trainX.shape, trainY.shape, testX.shape, testY.shape)

model = keras.Sequential([
    layers.Input((LOOK_BACK, 3)),
    layers.LSTM(32),
    layers.Dense(16, activation="relu"),
    layers.Dense(1),
])
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.Adam(0.003))
model.fit(trainX, trainY, epochs=15, batch_size=32,
          validation_data=(testX, testY), verbose=2)

span = scaler.data_max_[0] - scaler.data_min_[0]
pred = model.predict(testX, verbose=0)[:, 0]
rmse = np.sqrt(np.mean((pred - testY) ** 2)) * span
naive = np.sqrt(np.mean(np.diff(scaled[split + LOOK_BACK - 1:, 0]) ** 2)) * span
print("Test RMSE: %.2f degrees   (same as the hour before: %.2f)" % (rmse, naive))
