import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

# hourly load of a small grid: day + week pattern, temperature effect, noise
T = 24 * 7 * 26
h = np.arange(T)
temp = 12 + 8 * np.sin(2 * np.pi * h / (24 * 365)) + 4 * np.sin(2 * np.pi * (h - 9) / 24) + rng.normal(0, 1.5, T)
load = (60 + 15 * np.sin(2 * np.pi * (h - 7) / 24) + 8 * (h // 24 % 7 < 5)
        + 0.08 * (temp - 18) ** 2 + rng.normal(0, 1.5, T))

feats = np.stack([load, temp, np.sin(2 * np.pi * h / 24), np.cos(2 * np.pi * h / 24),
                  (h // 24 % 7 < 5).astype(float)], 1)
cut = int(T * 0.8)
mu, sd = feats[:cut].mean(0), feats[:cut].std(0)
feats = ((feats - mu) / sd).astype("float32")

W = 24
X = np.stack([feats[i:i + W] for i in range(T - W)])
Y = feats[W:, 0]
Xtr, Ytr, Xte, Yte = X[:cut - W], Y[:cut - W], X[cut - W:], Y[cut - W:]

EPOCHS, BATCH = 12, 64
schedule = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=2e-3,
    decay_steps=EPOCHS,
)

model = keras.Sequential([
    layers.Input((W, 5)),
    layers.Conv1D(32, 3, padding="causal", activation="relu"),
    layers.Conv1D(32, 3, padding="causal", activation="relu", dilation_rate=2),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(schedule), loss="mse", metrics=["mae"])
model.fit(Xtr, Ytr, batch_size=BATCH, epochs=EPOCHS, validation_data=(Xte, Yte), verbose=2)

mae = np.abs(model.predict(Xte, verbose=0).ravel() - Yte).mean() * sd[0]
naive = np.abs(X[cut - W:, 0, 0] - Yte).mean() * sd[0]
print(f"test MAE {mae:.2f} MW, same hour yesterday {naive:.2f} MW")
