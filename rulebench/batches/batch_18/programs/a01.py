"""Matrix factorisation on an explicit rating table."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import argparse
import numpy as np
import pandas as pd
import keras
from keras import layers, regularizers
from sklearn.model_selection import train_test_split


def make_ratings(n_users, n_items, n, rng):
    bu, bi = rng.normal(0, 0.5, n_users), rng.normal(0, 0.7, n_items)
    pu, qi = rng.normal(0, 0.5, (n_users, 3)), rng.normal(0, 0.5, (n_items, 3))
    cells = rng.choice(n_users * n_items, n, replace=False)
    u, i = cells // n_items, cells % n_items
    r = 3.4 + bu[u] + bi[i] + (pu[u] * qi[i]).sum(1) + rng.normal(0, 0.4, n)
    return pd.DataFrame({
        "user": [f"U{k:04d}" for k in u * 7 + 13],
        "movie": [f"M{k:04d}" for k in i * 3 + 101],
        "rating": np.clip(np.round(r * 2) / 2, 0.5, 5.0),
    })


def encode(df):
    df = df.copy()
    df["u"], _ = pd.factorize(df["user"])
    df["m"], _ = pd.factorize(df["movie"])
    return df


class MF(keras.Model):
    def __init__(self, n_users, n_items, dim, mean):
        super().__init__()
        reg = regularizers.L2(1e-5)
        self.user = layers.Embedding(n_users, dim, embeddings_regularizer=reg)
        self.item = layers.Embedding(n_items, dim, embeddings_regularizer=reg)
        self.user_bias = layers.Embedding(n_users, 1, embeddings_initializer="zeros")
        self.item_bias = layers.Embedding(n_items, 1, embeddings_initializer="zeros")
        self.mean = mean

    def call(self, inputs):
        u, m = inputs[:, 0], inputs[:, 1]
        dot = keras.ops.sum(self.user(u) * self.item(m), axis=1, keepdims=True)
        return dot + self.user_bias(u) + self.item_bias(m) + self.mean


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=6)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()

    keras.utils.set_random_seed(5)
    rng = np.random.default_rng(5)
    ratings = make_ratings(300, 150, 14000, rng)
    n_users, n_items = ratings.user.nunique(), ratings.movie.nunique()

    train, test = train_test_split(ratings, test_size=0.2, random_state=5)
    train, test = encode(train), encode(test)
    print(len(train), "train ratings", len(test), "test ratings", n_users, "users", n_items, "movies")

    model = MF(n_users, n_items, args.dim, float(train.rating.mean()))
    model.compile(optimizer=keras.optimizers.Adam(args.lr), loss="mse",
                  metrics=[keras.metrics.RootMeanSquaredError(name="rmse")])
    x_tr, x_te = train[["u", "m"]].to_numpy("int32"), test[["u", "m"]].to_numpy("int32")
    model.fit(x_tr, train.rating.to_numpy("float32"), batch_size=64, epochs=args.epochs,
              validation_data=(x_te, test.rating.to_numpy("float32")), verbose=2)

    pred = model.predict(x_te, verbose=0)[:, 0]
    rmse = np.sqrt(np.mean((pred - test.rating) ** 2))
    base = np.sqrt(np.mean((train.rating.mean() - test.rating) ** 2))
    print(f"test RMSE {rmse:.3f}   predicting the mean {base:.3f}")


if __name__ == "__main__":
    main()
