# Multi-task: digit class for every image, "ink amount" regression measured only for a third of them
# (missing -> nan in the table; replaced by 0 and weighted 0)
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
d = load_digits()
x = (d.images[..., None] / 16).astype("float32")
ink = x.sum((1, 2, 3)); ink = (ink - ink.mean()) / ink.std()
meas = ink.copy()
meas[rng.random(len(meas)) > 0.33] = np.nan
w = (~np.isnan(meas)).astype("float32")
meas = np.nan_to_num(meas, nan=0.0)
print("measured:", w.mean())

inp = keras.Input((8, 8, 1))
h = layers.Conv2D(16, 3, activation="relu")(inp)
h = layers.Conv2D(32, 3, activation="relu")(h)
h = layers.Flatten()(h)
h = layers.Dense(64, activation="relu")(h)
out_c = layers.Dense(10, name="digit")(h)
out_r = layers.Dense(1, name="ink")(h)
model = keras.Model(inp, {"digit": out_c, "ink": out_r})
model.compile(
    optimizer=keras.optimizers.AdamW(2e-3),
    loss={"digit": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "ink": "mse"},
    loss_weights={"digit": 1.0, "ink": 3.0},
)
n = 1400
ones = np.ones(n, "float32")
for part in range(4):
    h = model.fit(x[:n], {"digit": d.target[:n], "ink": meas[:n, None]}, sample_weight={"digit": ones, "ink": w[:n]},
                  epochs=6, batch_size=50, verbose=0)
    print({k: round(v[-1], 4) for k, v in h.history.items()})
p = model.predict(x[n:], verbose=0)
print("digit acc", (p["digit"].argmax(1) == d.target[n:]).mean(), "ink corr", np.corrcoef(p["ink"].ravel(), ink[n:])[0, 1])
