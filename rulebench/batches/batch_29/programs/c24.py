import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np, keras
from keras import layers
keras.utils.set_random_seed(1)

# hourly load: daily + weekly cycle, AR(1) noise
rng = np.random.default_rng(1)
n = 3000
tt = np.arange(n)
e = np.zeros(n)
for k in range(1, n): e[k] = 0.7 * e[k-1] + 0.25 * rng.normal()
series = np.sin(2*np.pi*tt/24) + 0.5*np.sin(2*np.pi*tt/168) + e
split = 2300
m, s = series[:split].mean(), series[:split].std()
z = ((series - m) / s).astype("float32")

WINDOW = 48
def windows(v):
    xs, ys = [], []
    for i in range(len(v) - WINDOW):
        xs.append(v[i:i + WINDOW])
        ys.append(v[i + WINDOW - 1])
    return np.array(xs)[..., None], np.array(ys)

xtr, ytr = windows(z[:split])
xte, yte = windows(z[split:])
model = keras.Sequential([keras.Input((WINDOW, 1)), layers.GRU(24), layers.Dense(16, activation="relu"), layers.Dense(1)])
model.compile(keras.optimizers.Adam(3e-3), "mse", metrics=["mae"])
h = model.fit(xtr, ytr, epochs=8, batch_size=32, validation_data=(xte, yte), verbose=2)
print("one-step test mse %.4f" % model.evaluate(xte, yte, verbose=0)[0])

# twelve hours ahead, fed with its own outputs
starts = np.arange(split, n - WINDOW - 12, 10)
buf = np.stack([z[i:i + WINDOW] for i in starts])
out = []
for k in range(12):
    nxt = model.predict(buf[:, -WINDOW:, None], verbose=0)
    out.append(nxt[:, 0]); buf = np.concatenate([buf, nxt], 1)
truth = np.stack([z[i + WINDOW:i + WINDOW + 12] for i in starts], 1)
print("12-hour forecast rmse %.4f" % np.sqrt(((np.array(out) - truth) ** 2).mean()))
