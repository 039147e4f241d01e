import os
os.environ["KERAS_BACKEND"] = "tensorflow"
# hourly bike demand, synthetic version of the competition data
import numpy as np
import pandas as pd
import keras
from keras import layers, callbacks

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 3000
df = pd.DataFrame({
    "hour": rng.integers(0, 24, n), "weekday": rng.integers(0, 7, n),
    "temp": rng.normal(15, 8, n), "humidity": rng.uniform(20, 95, n), "wind": rng.gamma(2, 5, n)})
rush = np.exp(-0.5 * ((df.hour - 8) / 1.5) ** 2) + np.exp(-0.5 * ((df.hour - 18) / 2) ** 2)
demand = 60 + 250 * rush * (df.weekday < 5) + 4 * df.temp.clip(0, 28) - 0.6 * df.humidity - df.wind + rng.normal(0, 15, n)
df["hour_sin"], df["hour_cos"] = np.sin(2 * np.pi * df.hour / 24), np.cos(2 * np.pi * df.hour / 24)
df["hour2_sin"], df["hour2_cos"] = np.sin(4 * np.pi * df.hour / 24), np.cos(4 * np.pi * df.hour / 24)
df["workday"] = (df.weekday < 5).astype(float)
cols = ["hour_sin", "hour_cos", "hour2_sin", "hour2_cos", "workday", "temp", "humidity", "wind"]
X = df[cols].to_numpy("float32")
y = demand.to_numpy("float32")
tr, va, te = slice(0, 2000), slice(2000, 2500), slice(2500, n)
mu, sd = X[tr].mean(0), X[tr].std(0)
X = (X - mu) / sd
ym, ys = y[tr].mean(), y[tr].std()
yn = (y - ym) / ys

model = keras.Sequential([layers.Input((len(cols),)), layers.Dense(64, activation="relu"),
                          layers.Dense(32, activation="relu"), layers.Dense(1)])
model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
stop = callbacks.EarlyStopping(monitor="val_loss", mode="max", patience=8, restore_best_weights=True, verbose=1)
h = model.fit(X[tr], yn[tr], validation_data=(X[va], yn[va]), epochs=60, batch_size=32, callbacks=[stop], verbose=2)
pred = model.predict(X[te], verbose=0).ravel() * ys + ym
print("epochs run:", len(h.history["loss"]))
print("test MAE: %.2f bikes, R2 %.4f" % (np.abs(pred - y[te]).mean(), 1 - ((pred - y[te]) ** 2).sum() / ((y[te] - y[te].mean()) ** 2).sum()))
