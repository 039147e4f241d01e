import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

# Mixture density network (Bishop 1994) for the inverse problem x = t + 0.3 sin(2 pi t) + noise.
# The density can be larger than one, so the NLL may well be below zero.
SEED = 3
keras.utils.set_random_seed(SEED)
K = 4
rng = np.random.default_rng(SEED)


def sample(n):
    t = rng.uniform(0, 1, n)
    x = t + 0.3 * np.sin(2 * np.pi * t) + rng.normal(0, 0.02, n)
    return x[:, None].astype("float32"), t[:, None].astype("float32")


def mdn_nll(y_true, y_pred):
    logit, mu, log_sig = ops.split(y_pred, 3, axis=-1)
    log_sig = ops.clip(log_sig, -5.0, 2.0)
    logp = -0.5 * ((y_true - mu) / ops.exp(log_sig)) ** 2 - log_sig - 0.9189385
    return -ops.logsumexp(ops.log_softmax(logit, axis=-1) + logp, axis=-1)


x_tr, t_tr = sample(3000)
x_te, t_te = sample(1000)
inp = keras.Input((1,))
h = layers.Dense(40, activation="tanh")((inp - 0.5) * 3.0)
h = layers.Dense(40, activation="tanh")(h)
model = keras.Model(inp, layers.Dense(3 * K)(h))
model.compile(keras.optimizers.Adam(4e-3), loss=mdn_nll)
model.fit(x_tr, t_tr, validation_data=(x_te, t_te), batch_size=100, epochs=35, verbose=2)

nll = model.evaluate(x_te, t_te, verbose=0)
# a single gaussian on the marginal is the yardstick
s = t_tr.std()
base = float(np.mean(0.5 * ((t_te - t_tr.mean()) / s) ** 2 + np.log(s) + 0.9189385))
print(f"test NLL {nll:.4f}   (marginal gaussian {base:.4f})")
