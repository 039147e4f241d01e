import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

"""Semi supervised digits with pseudo labels: 60 labelled images, the rest without labels."""


def split(seed):
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype("float32")
    rng = np.random.default_rng(seed)
    p = rng.permutation(len(x))
    x, y = x[p], y[p]
    lab = np.concatenate([np.flatnonzero(y[:1300] == c)[:6] for c in range(10)])
    unl = np.setdiff1d(np.arange(1300), lab)
    return (x[lab], y[lab]), x[unl], (x[1300:], y[1300:])


def jitter(x, rng):
    img = x.reshape(-1, 8, 8)
    dx, dy = rng.integers(-1, 2, 2)
    img = np.roll(img, (dx, dy), (1, 2))
    return (img + 0.05 * rng.normal(size=img.shape)).reshape(len(x), 64).astype("float32")


def build(lr):
    m = keras.Sequential([
        keras.Input((64,)),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(64, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ])
    m.compile(keras.optimizers.Adam(lr), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--threshold", type=float, default=0.95)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    keras.utils.set_random_seed(a.seed)
    rng = np.random.default_rng(a.seed)
    (xl, yl), xu, (xt, yt) = split(a.seed)
    print(len(xl), "labelled", len(xu), "unlabelled", len(xt), "test")

    model = build(1e-3)
    for _ in range(200):
        loss, _acc = model.train_on_batch(jitter(xl, rng), yl)
    print("labelled only: loss %.3f test %.3f" % (float(loss), model.evaluate(xt, yt, verbose=0)[1]))

    for r in range(a.rounds):
        prob = model.predict(xu, verbose=0)
        keep = np.flatnonzero(prob.max(1) > a.threshold)
        pseudo = prob.argmax(1)[keep]
        for step in range(a.steps):
            b = rng.choice(len(keep), min(96, len(keep)), replace=False)
            xb = np.concatenate([jitter(xl, rng), jitter(xu[keep[b]], rng)])
            yb = np.concatenate([yl, pseudo[b]])
            w = np.concatenate([np.ones(len(xl)), np.full(len(b), 0.5)]).astype("float32")
            model.reset_metrics()
            loss, _acc = model.train_on_batch(xb, yb, sample_weight=w)
        print("round %d: %d pseudo labels, loss %.3f, test %.3f"
              % (r + 1, len(keep), float(loss), model.evaluate(xt, yt, verbose=0)[1]))


if __name__ == "__main__":
    main()
