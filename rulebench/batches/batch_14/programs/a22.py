import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
n, d = 900, 6
X = rng.normal(size=(n, d)).astype("float32")
risk = X[:, 0] - 0.7 * X[:, 1] + 0.6 * X[:, 2] ** 2
time = rng.exponential(np.exp(-risk))
cens = rng.exponential(2.0, n)
event = (time <= cens).astype("float32")
obs = np.minimum(time, cens)
tr = np.arange(n) < 600

def sort(mask):
    o = np.argsort(-obs[mask])       # longest time first, so the risk set is a prefix
    return X[mask][o], event[mask][o], obs[mask][o]

Xtr, etr, ttr = sort(tr)
Xte, ete, tte = sort(~tr)

def cox_loss(e, score):
    s = ops.reshape(score, (-1,))
    e = ops.reshape(e, (-1,))
    m = ops.max(s)
    logsum = ops.log(ops.cumsum(ops.exp(s - m))) + m
    return -ops.sum((s - logsum) * e) / ops.sum(e)

net = keras.Sequential([keras.Input((d,)), layers.Dense(24, activation="tanh"),
                        layers.Dense(1, use_bias=False)])
net.compile(keras.optimizers.Adam(0.02), loss=cox_loss)
# one batch = whole cohort, order matters
net.fit(Xtr, etr, batch_size=len(Xtr), shuffle=False, epochs=100, verbose=0,
        validation_data=(Xte, ete), validation_batch_size=len(Xte))

def cindex(t, e, s):
    num = den = 0
    for i in range(len(t)):
        if e[i]:
            later = t > t[i]
            den += later.sum(); num += (s[i] > s[later]).sum()
    return num / den

print("events", event.mean())
print("c-index train", cindex(ttr, etr, net.predict(Xtr, verbose=0).ravel()))
print("c-index test", cindex(tte, ete, net.predict(Xte, verbose=0).ravel()))
