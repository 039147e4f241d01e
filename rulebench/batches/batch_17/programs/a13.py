import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# predict the daily river level for tomorrow with a GRU, as a change from today
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 2600
rain = rng.gamma(0.4, 6.0, n) * (rng.uniform(size=n) < 0.5)
level = np.zeros(n)
store = 0.0
for i in range(1, n):
    store = 0.8 * store + rain[i - 1]
    level[i] = 0.9 * level[i - 1] + 0.05 * store + 0.05 * rng.normal()

data = np.stack([level, rain], 1)
cut = int(0.75 * n)
mu, sd = data[:cut].mean(0), data[:cut].std(0)
z = (data - mu) / sd

LOOK = 20
X = np.stack([z[i - LOOK:i] for i in range(LOOK, n)]).astype("float32")
change = (z[LOOK:, 0] - z[LOOK - 1:-1, 0]).astype("float32")
scale = change[:cut - LOOK].std()
y = change / scale
X_tr, y_tr, X_te, y_te = X[:cut - LOOK], y[:cut - LOOK], X[cut - LOOK:], y[cut - LOOK:]

model = keras.Sequential([
    keras.Input((LOOK, 2)),
    layers.GRU(16),
    layers.Dense(1),
])
model.compile(keras.optimizers.RMSprop(3e-3), loss="mse")
model.fit(X_tr, y_tr, epochs=12, batch_size=64, validation_data=(X_te, y_te), verbose=2)

pred = z[cut - 1:-1, 0] + model.predict(X_te, verbose=0).ravel() * scale
rmse = np.sqrt(np.mean((pred - z[cut:, 0]) ** 2)) * sd[0]
naive = np.sqrt(np.mean((z[cut - 1:-1, 0] - z[cut:, 0]) ** 2)) * sd[0]
print("RMSE network %.4f, persistence %.4f" % (rmse, naive))
