import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras

# Hourly demand, 24 h period + weekly period + slow trend + noise. Forecast one hour ahead.
SEED = 8
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

t = np.arange(3000)
series = (3 * np.sin(2 * np.pi * t / 24) + 1.5 * np.sin(2 * np.pi * t / 168 + 1) + 0.0005 * t
          + rng.normal(scale=0.3, size=len(t)))

n_train, n_val = 2100, 400
mean, std = series[:n_train].mean(), series[:n_train].std()
s = ((series - mean) / std).astype("float32")
W = 36


def windows(a):
    X = np.lib.stride_tricks.sliding_window_view(a[:-1], W)[..., None]
    return X.copy(), a[W:]


Xtr, ytr = windows(s[:n_train])
Xva, yva = windows(s[n_train - W:n_train + n_val])
Xte, yte = windows(s[n_train + n_val - W:])
print(Xtr.shape, ytr.shape, Xva.shape, Xte.shape)

model = keras.Sequential([
    keras.Input((W, 1)),
    keras.layers.GRU(24),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
stop = keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)
hist = model.fit(Xtr, ytr, validation_data=(Xva, yva), epochs=15, batch_size=64, callbacks=[stop], verbose=2)

pred = model.predict(Xte, verbose=0)[:, 0]
rmse = np.sqrt(np.mean((pred - yte) ** 2)) * std
naive = np.sqrt(np.mean((Xte[:, -1, 0] - yte) ** 2)) * std
print(f"test RMSE {rmse:.3f}   persistence RMSE {naive:.3f}")
