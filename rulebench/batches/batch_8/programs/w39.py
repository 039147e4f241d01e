import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# bike counter: hourly number of passing bikes
rng = np.random.default_rng(2)
n = 4000
hour = rng.integers(0, 24, n)
temp = rng.normal(12, 8, n)
rain = (rng.random(n) < 0.2).astype(float)
rate = np.exp(0.5 + 1.2 * np.sin((hour - 7) / 24 * 2 * np.pi) + 0.03 * temp - 0.8 * rain)
count = rng.poisson(rate).astype("float32")

feats = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi),
                  (temp - 12) / 8, rain], 1).astype("float32")

keras.utils.set_random_seed(2)
model = keras.Sequential([
    layers.Input((4,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="poisson", metrics=["mae"])
model.fit(feats[:3200], count[:3200], epochs=15, batch_size=64, verbose=2,
          validation_data=(feats[3200:], count[3200:]))
pred = model.predict(feats[3200:], verbose=0)[:, 0]
print("mean count", count[3200:].mean(), "mean prediction", pred.mean())
print("MAE", np.abs(pred - count[3200:]).mean())
