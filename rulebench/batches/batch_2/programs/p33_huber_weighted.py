# Robust regression: Huber loss, sample weights from the measuring error, 8 % gross outliers
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras

keras.utils.set_random_seed(171)
rng = np.random.default_rng(171)
n = 1500
x = rng.uniform(-3, 3, (n, 2)).astype("float32")
f = np.sin(x[:, 0]) * 2 + 0.5 * x[:, 1] ** 2
sigma = rng.choice([0.1, 0.8], n)
y = f + sigma * rng.normal(size=n)
bad = rng.random(n) < 0.08
bad[1200:] = False
y[bad] += rng.choice([-30, 30], bad.sum())
w = 1 / (0.05 + sigma ** 2)
w /= w.mean()

model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(48, activation="elu"),
                          keras.layers.Dense(48, activation="elu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(5e-3, clipnorm=5.0), keras.losses.Huber(delta=0.5), metrics=["mae"])
h = model.fit(x[:1200], y[:1200], sample_weight=w[:1200], validation_data=(x[1200:], y[1200:]),
              epochs=30, batch_size=50, verbose=0)
for e in range(0, 30, 4):
    print(e, {k: round(v[e], 4) for k, v in h.history.items()})
p = model.predict(x[1200:], verbose=0)[:, 0]
print("rmse against the clean surface", float(np.sqrt(((p - f[1200:]) ** 2).mean())), "spread", float(f.std()))
