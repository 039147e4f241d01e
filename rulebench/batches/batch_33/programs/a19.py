import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras.layers import LSTM, Dense, Input

# Daily visitors of a museum: predict tomorrow from the last 21 days
keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
n = 1500
day = np.arange(n)
week = np.array([0.6, 0.0, 0.8, 0.9, 1.0, 1.7, 1.5])[day % 7]
season = 1 + 0.4 * np.sin(2 * np.pi * day / 365.25)
ar = np.zeros(n)
for i in range(1, n):
    ar[i] = 0.85 * ar[i - 1] + rng.normal(0, 0.05)
visitors = 2400 * week * season * np.exp(ar) + rng.normal(0, 40, n)
visitors = np.clip(visitors, 0, None).astype("float32")

WIN, SPLIT = 21, 1200
scaled = visitors / visitors[:SPLIT].max()
X = np.stack([scaled[i:i + WIN] for i in range(n - WIN)])[..., None]
y = visitors[WIN:]
Xtr, ytr = X[:SPLIT - WIN], y[:SPLIT - WIN]
Xte, yte = X[SPLIT - WIN:], y[SPLIT - WIN:]
print(Xtr.shape, ytr.shape, Xte.shape, yte.shape)

model = keras.Sequential([Input((WIN, 1)), LSTM(32), Dense(16, activation="relu"), Dense(1)])
model.compile(optimizer="adam", loss="mae")
model.fit(Xtr, ytr, epochs=25, batch_size=32, validation_data=(Xte, yte), verbose=2)

pred = model.predict(Xte, verbose=0)[:, 0]
mae = np.abs(pred - yte).mean()
naive = np.abs(visitors[SPLIT - 7:n - 7] - visitors[SPLIT:]).mean()
print("test MAE %.1f visitors (same day last week: %.1f)" % (mae, naive))
