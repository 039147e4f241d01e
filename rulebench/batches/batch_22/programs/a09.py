# %% [markdown]
# Short-term load forecast: next-step value from a window of engineered features

# %%
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import pandas as pd
import keras
from keras import layers

keras.utils.set_random_seed(21)

# %%
n = 5000
rng = np.random.default_rng(5)
t = np.arange(n)
ar = np.zeros(n)
for i in range(1, n):
    ar[i] = 0.8 * ar[i - 1] + rng.normal(0, 1.0)
load = 50 + 8 * np.sin(2 * np.pi * t / 24) + 4 * np.sin(2 * np.pi * t / 168) + 3 * ar
df = pd.DataFrame({"load": load})
df["hour_sin"] = np.sin(2 * np.pi * t / 24)
df["hour_cos"] = np.cos(2 * np.pi * t / 24)
df["smooth"] = df["load"].rolling(5, center=True).mean()
df["diff"] = df["load"].diff()
df = df.dropna().reset_index(drop=True)

# %%
split = int(len(df) * 0.8)
mean, std = df[:split].mean(), df[:split].std()
z = (df - mean) / std

WINDOW = 12


def windows(frame):
    v = frame.to_numpy("float32")
    X = np.stack([v[i:i + WINDOW] for i in range(len(v) - WINDOW)])
    y = v[WINDOW:, 0]
    return X, y


X_train, y_train = windows(z[:split])
X_test, y_test = windows(z[split:])

# %%
model = keras.Sequential([
    keras.Input((WINDOW, z.shape[1])),
    layers.Conv1D(32, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(48, activation="relu"),
    layers.Dense(1),
])
model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=6, batch_size=64, verbose=2)

# %%
pred = model.predict(X_test, verbose=0)[:, 0] * std["load"] + mean["load"]
true = y_test * std["load"] + mean["load"]
print(f"test MAE {np.abs(pred - true).mean():.3f}")
