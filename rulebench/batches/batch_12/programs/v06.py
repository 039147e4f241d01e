import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers, ops

# discrete-time survival (Gensheimer & Narasimhan), hazards per interval


def simulate(n, rng):
    x = rng.normal(size=(n, 5)).astype("float32")
    rate = 0.08 * np.exp(0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.4 * x[:, 2] * x[:, 3])
    t = rng.exponential(1 / rate)
    c = rng.uniform(2, 25, n)
    time = np.minimum(t, c)
    event = (t <= c).astype("float32")
    return x, time, event


def encode(time, event, edges):
    """first half: survived the interval, second half: died in the interval"""
    n, k = len(time), len(edges) - 1
    out = np.zeros((n, 2 * k), "float32")
    for i in range(n):
        for j in range(k):
            if time[i] >= edges[j + 1]:
                out[i, j] = 1.0
            elif edges[j] <= time[i] < edges[j + 1] and not event[i]:
                out[i, k + j] = 1.0
    return out


def surv_nll(y_true, haz):
    k = haz.shape[1]
    surv, dead = y_true[:, :k], y_true[:, k:]
    ll = surv * ops.log(1.0 - haz + 1e-6) + dead * ops.log(haz + 1e-6)
    return -ops.sum(ll, axis=1)


def c_index(time, event, risk):
    num = den = 0
    for i in np.where(event == 1)[0]:
        later = time > time[i]
        den += later.sum()
        num += (risk[later] < risk[i]).sum()
    return num / den


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    args = p.parse_args()
    keras.utils.set_random_seed(6)
    rng = np.random.default_rng(6)
    edges = np.array([0, 2, 4, 6, 8, 11, 15, 20, 26])
    xtr, ttr, etr = simulate(2000, rng)
    xte, tte, ete = simulate(700, rng)
    model = keras.Sequential([layers.Input((5,)), layers.Dense(32, activation="relu"),
                              layers.Dense(len(edges) - 1, activation="sigmoid")])
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=surv_nll)
    model.fit(xtr, encode(ttr, etr, edges), epochs=args.epochs, batch_size=64,
              validation_data=(xte, encode(tte, ete, edges)), verbose=2)
    haz = model.predict(xte, verbose=0)
    s = np.cumprod(1 - haz, axis=1)
    print("censored", 1 - ete.mean())
    print("c-index", c_index(tte, ete, -s.sum(1)))
    print("mean predicted survival at t=8", s[:, 3].mean())


if __name__ == "__main__":
    main()
