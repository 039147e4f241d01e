import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# bike rentals per hour: counts, so Poisson loss and log link
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
n = 4000
hour = rng.integers(0, 24, n)
temp = rng.normal(15, 8, n)
work = rng.integers(0, 2, n)
lam = np.exp(1.0 + 0.04 * temp + 0.8 * np.sin((hour - 8) / 24 * 2 * np.pi) + 0.4 * work * (np.abs(hour - 8) < 2))
y = rng.poisson(lam).astype("float32")
X = np.stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24), (temp - 15) / 8, work,
              (np.abs(hour - 8) < 2)], 1).astype("float32")
tr = rng.random(n) < 0.8

model = keras.Sequential([
    keras.Input((5,)),
    layers.Dense(32, activation="gelu"),
    layers.Dense(1, activation="exponential",
                 bias_initializer=keras.initializers.Constant(float(np.log(y[tr].mean())))),
])
model.compile("adam", loss="poisson", metrics=["mae"])
model.fit(X[tr], y[tr], epochs=25, batch_size=64, validation_data=(X[~tr], y[~tr]), verbose=2)
p = model.predict(X[~tr], verbose=0).ravel()
print("corr with true rate:", np.corrcoef(p, lam[~tr])[0, 1])
print("mean pred / mean obs:", p.mean(), y[~tr].mean())
