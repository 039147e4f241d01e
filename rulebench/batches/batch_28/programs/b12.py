import os
os.environ["KERAS_BACKEND"] = "torch"
# Electricity-load style stream: the relation changes twice, the model follows.
# Every chunk is first predicted, then learned, then thrown away.
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
D, CHUNK, N_CHUNKS = 8, 16, 900
W = [rng.normal(size=D) for _ in range(3)]


def stream():
    for k in range(N_CHUNKS):
        w = W[k // (N_CHUNKS // 3)]
        # the inputs arrive sorted by "hour", they are not shuffled
        hour = np.sort(rng.uniform(0, 24, CHUNK))
        x = rng.normal(size=(CHUNK, D)) + np.sin(hour / 24 * 2 * np.pi)[:, None] * 0.5
        y = np.tanh(x @ w) * 2 + 0.1 * rng.normal(size=CHUNK)
        yield k, x.astype("float32"), y.astype("float32")[:, None]


model = keras.Sequential([keras.Input((D,)), layers.Dense(32, activation="tanh"), layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.05, momentum=0.8), loss="mse")

ewma_err, ewma_var, last = None, None, []
for k, x, y in stream():
    pred = model.predict_on_batch(x)
    err, var = float(np.mean((pred - y) ** 2)), float(np.mean(y ** 2))
    ewma_err = err if ewma_err is None else 0.95 * ewma_err + 0.05 * err
    ewma_var = var if ewma_var is None else 0.95 * ewma_var + 0.05 * var
    last.append((err, var))
    model.train_on_batch(x, y)
    if k % 50 == 0:
        print(f"chunk {k:4d} prequential mse {ewma_err:.3f}  unexplained share {ewma_err/ewma_var:.3f}")

e, v = np.array(last).T
print("prequential R2 over the whole stream: %.3f" % (1 - e.sum() / v.sum()))
print("prequential R2 over the last 150 chunks: %.3f" % (1 - e[-150:].sum() / v[-150:].sum()))
