import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import math
import numpy as np
import keras
from keras import ops

# Sensor calibration: the reading error of the flow meter grows with the flow.
# The network gives a mean and a standard deviation for each reading (unit: m3/s).
SEED = 20
rng = np.random.default_rng(SEED)
keras.utils.set_random_seed(SEED)


def simulate(n):
    flow = rng.uniform(-2, 2, size=n)
    temp = rng.normal(0, 1, size=n)
    sigma = 0.002 + 0.010 * (flow + 2) / 4
    err = 0.05 * np.sin(2 * flow) + 0.02 * temp * flow + sigma * rng.normal(size=n)
    x = np.stack([flow, temp], 1).astype("float32")
    return x, err.astype("float32")[:, None], sigma


xtr, ytr, _ = simulate(4000)
xte, yte, ste = simulate(1000)


def gaussian_nll(y_true, params):
    mu, raw = params[:, :1], params[:, 1:]
    s = ops.softplus(raw) + 1e-3
    return ops.mean(0.5 * math.log(2 * math.pi) + ops.log(s) + 0.5 * ops.square((y_true - mu) / s), axis=-1)


inp = keras.Input((2,))
h = keras.layers.Dense(64, activation="swish")(inp)
h = keras.layers.Dense(64, activation="swish")(h)
out = keras.layers.Dense(2, bias_initializer=keras.initializers.Constant(-2.0))(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(2e-3, clipnorm=1.0), loss=gaussian_nll)
cb = keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=5, factor=0.3)
h = model.fit(xtr, ytr, batch_size=128, epochs=50, validation_split=0.1, callbacks=[cb], verbose=0)
for i in range(0, 50, 7):
    print("epoch", i, "nll", round(h.history["loss"][i], 3), "val", round(h.history["val_loss"][i], 3))

p = model.predict(xte, verbose=0)
sd = np.log1p(np.exp(p[:, 1])) + 1e-3
inside = np.mean(np.abs(yte[:, 0] - p[:, 0]) < 1.96 * sd)
r2 = 1 - np.sum((yte[:, 0] - p[:, 0]) ** 2) / np.sum((yte[:, 0] - yte.mean()) ** 2)
print("held-out: R2 %.3f, coverage of the 95%% band %.3f, corr(sd, true sd) %.3f" % (
    r2, inside, np.corrcoef(sd, ste)[0, 1]))
