import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(11)

# hourly electricity demand: daily + weekly cycle, AR noise
def simulate(n):
    rng = np.random.default_rng(11)
    t = np.arange(n)
    base = 50 + 12 * np.sin(2 * np.pi * t / 24) + 6 * np.sin(2 * np.pi * t / 168 + 0.7)
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = 0.75 * noise[i - 1] + rng.normal(0, 4.0)
    return base + noise

LOOKBACK = 48
HORIZON = 6

demand = simulate(6000)
split = int(0.8 * len(demand))
mu, sd = demand[:split].mean(), demand[:split].std()
z = (demand - mu) / sd


def make_windows(series, lookback, horizon):
    xs, ys = [], []
    for end in range(lookback + horizon, len(series)):
        xs.append(series[end - lookback:end])
        ys.append(series[end - horizon:end])
    return np.array(xs, "float32")[..., None], np.array(ys, "float32")


x_train, y_train = make_windows(z[:split], LOOKBACK, HORIZON)
x_test, y_test = make_windows(z[split:], LOOKBACK, HORIZON)
print("windows", x_train.shape, y_train.shape, x_test.shape)

model = keras.Sequential([
    keras.Input((LOOKBACK, 1)),
    layers.Conv1D(16, 5, padding="causal", activation="relu"),
    layers.Conv1D(16, 5, padding="causal", dilation_rate=4, activation="relu"),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(HORIZON),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
hist = model.fit(x_train, y_train, batch_size=64, epochs=12, validation_data=(x_test, y_test), verbose=2)

pred = model.predict(x_test, verbose=0)
mae = np.abs(pred - y_test).mean() * sd
print(f"{HORIZON}-step-ahead forecast MAE on the last 20%: {mae:.3f} MW")
