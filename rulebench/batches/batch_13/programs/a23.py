import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(60)
rng = np.random.default_rng(60)

# a drifting price-like series; the network predicts tomorrow's change
n = 3000
season = 3 * np.sin(2 * np.pi * np.arange(n) / 30)
shock = np.zeros(n)
for t in range(2, n):
    shock[t] = 0.5 * shock[t - 1] - 0.4 * shock[t - 2] + rng.normal(0, 0.4)
level = 200 + 0.03 * np.arange(n) + season + shock
change = np.diff(level)

W = 20
X = np.lib.stride_tricks.sliding_window_view(change[:-1], W)[..., None]
y = change[W:]
cut1, cut2 = int(0.7 * len(y)), int(0.85 * len(y))
scale = change[:cut1 + W].std()
X, y = (X / scale).astype("float32"), (y / scale).astype("float32")

model = keras.Sequential([
    layers.Input((W, 1)),
    layers.GRU(24),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.RMSprop(2e-3), loss=keras.losses.Huber(delta=1.5))
model.fit(X[:cut1], y[:cut1], validation_data=(X[cut1:cut2], y[cut1:cut2]), shuffle=False,
          epochs=20, batch_size=32, verbose=2,
          callbacks=[keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.5)])

pred = model.predict(X[cut2:], verbose=0).ravel() * scale
true = y[cut2:] * scale
last = level[cut2 + W:cut2 + W + len(true)]
print("MAE of the level, network   %.3f" % np.abs(last + pred - (last + true)).mean())
print("MAE of the level, no change %.3f" % np.abs(true).mean())
