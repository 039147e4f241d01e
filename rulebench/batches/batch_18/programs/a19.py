import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)

# delivery time vs distance, noise grows with distance
dist = rng.uniform(0.5, 12, 3000)
load = rng.uniform(0, 1, 3000)
minutes = 8 + 3.2 * dist + 6 * load + rng.gamma(2, 0.4 * dist)
X = np.stack([dist / 12, load], 1).astype("float32")
y = minutes.astype("float32")

qs = np.array([0.1, 0.5, 0.9], dtype="float32")

def pinball(y_true, y_pred):
    e = ops.reshape(y_true, (-1, 1)) - y_pred
    q = ops.convert_to_tensor(qs)
    return ops.mean(ops.maximum(q * e, (q - 1.0) * e), axis=-1)

model = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(3, bias_initializer=keras.initializers.Constant(float(np.median(y[:2400])))),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=pinball)
model.fit(X[:2400], y[:2400], epochs=15, batch_size=64, validation_data=(X[2400:], y[2400:]), verbose=2)

p = model.predict(X[2400:], verbose=0)
for k, q in enumerate(qs):
    print("quantile %.1f: share of targets below = %.3f" % (q, np.mean(y[2400:] < p[:, k])))
