"""Matrix factorisation with biases for explicit ratings.

    python train.py --factors 8 --epochs 25
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import numpy as np
import pandas as pd
import keras
from keras import layers, ops


def make_ratings(n_users=300, n_items=150, n=16000, seed=0):
    rng = np.random.default_rng(seed)
    pu, qi = rng.normal(0, 0.6, (n_users, 4)), rng.normal(0, 0.6, (n_items, 4))
    bu, bi = rng.normal(0, 0.4, n_users), rng.normal(0, 0.5, n_items)
    pairs = rng.choice(n_users * n_items, size=n, replace=False)
    u, i = pairs // n_items, pairs % n_items
    r = 3.3 + bu[u] + bi[i] + (pu[u] * qi[i]).sum(1) + rng.normal(0, 0.3, n)
    return pd.DataFrame({
        "user": [f"u{k:04d}" for k in u],
        "item": [f"m{k:04d}" for k in i],
        "rating": np.clip(np.round(r * 2) / 2, 0.5, 5.0),
        "ts": rng.integers(0, 10**6, n),
    })


def split_by_time(df, frac=0.85):
    df = df.sort_values("ts").reset_index(drop=True)
    cut = int(len(df) * frac)
    return df.iloc[:cut].copy(), df.iloc[cut:].copy()


def encode(df):
    df["uid"], users = pd.factorize(df["user"])
    df["iid"], items = pd.factorize(df["item"])
    return df, len(users), len(items)


class MF(keras.Model):
    def __init__(self, n_users, n_items, k, mean, l2):
        super().__init__()
        reg = keras.regularizers.L2(l2)
        init = keras.initializers.RandomNormal(stddev=0.05)
        self.p = layers.Embedding(n_users, k, embeddings_initializer=init, embeddings_regularizer=reg)
        self.q = layers.Embedding(n_items, k, embeddings_initializer=init, embeddings_regularizer=reg)
        self.bu = layers.Embedding(n_users, 1, embeddings_initializer="zeros")
        self.bi = layers.Embedding(n_items, 1, embeddings_initializer="zeros")
        self.mean = mean

    def call(self, x):
        u, i = x[:, 0], x[:, 1]
        dot = ops.sum(self.p(u) * self.q(i), axis=-1, keepdims=True)
        return self.mean + self.bu(u) + self.bi(i) + dot


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--factors", type=int, default=6)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--l2", type=float, default=1e-6)
    args = ap.parse_args()
    keras.utils.set_random_seed(11)

    train, test = split_by_time(make_ratings())
    train, n_users, n_items = encode(train)
    test, _, _ = encode(test)
    print(f"{len(train)} train, {len(test)} test, {n_users} users, {n_items} items")

    mean = float(train.rating.mean())
    model = MF(n_users, n_items, args.factors, mean, args.l2)
    model.compile(optimizer=keras.optimizers.Adam(args.lr), loss="mse",
                  metrics=[keras.metrics.RootMeanSquaredError(name="rmse")])
    model.fit(train[["uid", "iid"]].to_numpy("int32"), train.rating.to_numpy("float32"),
              batch_size=args.batch, epochs=args.epochs, verbose=2)

    res = model.evaluate(test[["uid", "iid"]].to_numpy("int32"),
                         test.rating.to_numpy("float32"), verbose=0, return_dict=True)
    base = float(np.sqrt(((test.rating - mean) ** 2).mean()))
    print(f"test rmse {res['rmse']:.4f}   (always the mean: {base:.4f})")


if __name__ == "__main__":
    main()
