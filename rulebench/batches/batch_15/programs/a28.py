import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers, ops

# 12-step-ahead forecast with quantiles (0.1, 0.5, 0.9), direct multi-horizon output
keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
n, LOOK, AHEAD = 3000, 48, 12
t = np.arange(n)
noise = np.zeros(n)
for i in range(1, n):
    noise[i] = 0.7 * noise[i - 1] + rng.normal(0, 0.5)
s = 10 * np.sin(2 * np.pi * t / 24) + 4 * np.cos(2 * np.pi * t / 96) + noise + 100

cut_tr, cut_va = 2000, 2400
mu, sd = s[:cut_tr].mean(), s[:cut_tr].std()
z = ((s - mu) / sd).astype("float32")


def windows(lo, hi):
    idx = np.arange(lo, hi - LOOK - AHEAD + 1)
    X = np.stack([z[i:i + LOOK] for i in idx])[..., None]
    Y = np.stack([z[i + LOOK:i + LOOK + AHEAD] for i in idx])
    return X, Y


Xtr, Ytr = windows(0, cut_tr)
Xva, Yva = windows(cut_tr, cut_va)
Xte, Yte = windows(cut_va, n)
QS = np.array([0.1, 0.5, 0.9], dtype="float32")


def pinball(y_true, y_pred):
    e = ops.expand_dims(y_true, -1) - y_pred
    return ops.mean(ops.maximum(QS * e, (QS - 1.0) * e))


inp = keras.Input((LOOK, 1))
h = layers.Conv1D(32, 6, strides=2, activation="relu", padding="causal")(inp)
h = layers.LSTM(24)(h)
h = layers.Dense(AHEAD * 3)(h)
model = keras.Model(inp, layers.Reshape((AHEAD, 3))(h))
model.compile(optimizer=keras.optimizers.Adam(4e-3), loss=pinball)
model.fit(Xtr, Ytr, epochs=14, batch_size=64, validation_data=(Xva, Yva),
          callbacks=[keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.5)], verbose=2)

q = model.predict(Xte, verbose=0) * sd + mu
true = Yte * sd + mu
seasonal = Xte[:, LOOK - 24:LOOK - 24 + AHEAD, 0] * sd + mu
print("MAE median      %.3f" % np.abs(q[..., 1] - true).mean())
print("MAE last day    %.3f" % np.abs(seasonal - true).mean())
print("coverage of 80%% band %.3f" % ((true > q[..., 0]) & (true < q[..., 2])).mean())
