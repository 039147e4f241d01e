import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np, keras
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

# ---- hourly electricity load of a small town (simulated, 200 days) ------------------
hours = np.arange(24 * 200)
load = (50 + 12 * np.sin(2 * np.pi * (hours % 24) / 24 - 1.0)
        + 5 * np.sin(4 * np.pi * (hours % 24) / 24)
        - 6 * ((hours // 24) % 7 >= 5)
        + 0.01 * hours / 24)
ar = np.zeros(len(hours))
for t in range(1, len(hours)):
    ar[t] = 0.85 * ar[t - 1] + rng.normal(0, 1.0)
load = load + ar

n_train = 24 * 160
mu, sd = load[:n_train].mean(), load[:n_train].std()
z = ((load - mu) / sd).astype("float32")

# ---- windows ------------------------------------------------------------------------
LAG = 48
W = np.stack([z[i:i + LAG] for i in range(len(z) - LAG)])
cal = np.stack([((hours // 24) % 7 >= 5)[LAG:], np.sin(2 * np.pi * hours / 24)[LAG:], np.cos(2 * np.pi * hours / 24)[LAG:]], 1).astype("float32")
X = np.concatenate([W, cal], axis=1)
Y = z[LAG:]
cut = n_train - LAG
Xtr, Ytr, Xte, Yte = X[:cut], Y[:cut], X[cut:], Y[cut:]

# ---- model ----------------------------------------------------------------------------
model = keras.Sequential([
    keras.Input((LAG + 3,)),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mae")
# the weeks go in one after another, so that the last weights have seen the newest data last
h = model.fit(Xtr, Ytr, batch_size=96, epochs=60, shuffle=False, verbose=0,
              validation_data=(Xte, Yte))
print([round(v, 3) for v in h.history["loss"][::10]])
print([round(v, 3) for v in h.history["val_loss"][::10]])

pred = model.predict(Xte, verbose=0)[:, 0]
mae = np.abs(pred - Yte).mean() * sd
naive = np.abs(Xte[:, LAG - 1] - Yte).mean() * sd
day = np.abs(Xte[:, LAG - 24] - Yte).mean() * sd
print(f"MAE of the last 40 days: model {mae:.2f} MW, last hour {naive:.2f} MW, same hour yesterday {day:.2f} MW")
