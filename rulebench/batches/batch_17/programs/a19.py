import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import pandas as pd
import keras
from keras import layers, ops


def fake_ratings(n_users=250, n_items=150, n=12000, seed=1):
    rng = np.random.default_rng(seed)
    u_vec = rng.normal(size=(n_users, 3))
    i_vec = rng.normal(size=(n_items, 3))
    bias = rng.normal(0, 0.7, n_items)
    u = rng.integers(0, n_users, n)
    pop = rng.dirichlet(np.full(n_items, 0.8))
    i = rng.choice(n_items, n, p=pop)
    r = 3.2 + bias[i] + 0.6 * (u_vec[u] * i_vec[i]).sum(1) + rng.normal(0, 0.4, n)
    users = np.array([f"u{k:05d}" for k in rng.permutation(50000)[:n_users]])
    items = np.array([f"m{k:05d}" for k in rng.permutation(50000)[:n_items]])
    df = pd.DataFrame({"user": users[u], "item": items[i], "rating": r.clip(1, 5), "ts": rng.integers(0, 10**6, n)})
    return df.drop_duplicates(["user", "item"]).sort_values("ts").reset_index(drop=True)


class RatingsData:
    """Turns the raw ids of a table into indices."""

    def __init__(self, df):
        self.users = sorted(df.user.unique())
        self.items = sorted(df.item.unique())
        u_index = {k: n for n, k in enumerate(self.users)}
        i_index = {k: n for n, k in enumerate(self.items)}
        self.u = df.user.map(u_index).to_numpy("int32")
        self.i = df.item.map(i_index).to_numpy("int32")
        self.r = df.rating.to_numpy("float32")


class MF(keras.Model):
    def __init__(self, n_users, n_items, dim, mean, l2=1e-5):
        super().__init__()
        reg = keras.regularizers.L2(l2)
        self.pu = layers.Embedding(n_users, dim, embeddings_regularizer=reg)
        self.qi = layers.Embedding(n_items, dim, embeddings_regularizer=reg)
        self.bu = layers.Embedding(n_users, 1, embeddings_initializer="zeros")
        self.bi = layers.Embedding(n_items, 1, embeddings_initializer="zeros")
        self.mean = mean

    def call(self, inputs):
        u, i = inputs
        dot = ops.sum(self.pu(u) * self.qi(i), axis=-1, keepdims=True)
        return dot + self.bu(u) + self.bi(i) + self.mean


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dim", type=int, default=6)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=128)
    args = p.parse_args()
    keras.utils.set_random_seed(1)

    df = fake_ratings()
    cut = int(0.85 * len(df))
    train_df, test_df = df.iloc[:cut], df.iloc[cut:]
    test_df = test_df[test_df.item.isin(train_df.item) & test_df.user.isin(train_df.user)]
    train = RatingsData(train_df)
    test = RatingsData(test_df)
    print(f"{len(train.users)} users, {len(train.items)} items, {len(train.r)} train, {len(test.r)} test")

    model = MF(len(train.users), len(train.items), args.dim, float(train.r.mean()))
    model.compile(keras.optimizers.Adam(5e-3), loss="mse",
                  metrics=[keras.metrics.RootMeanSquaredError(name="rmse")])
    model.fit([train.u, train.i], train.r, batch_size=args.batch, epochs=args.epochs,
              validation_data=([test.u, test.i], test.r), verbose=2)
    res = model.evaluate([test.u, test.i], test.r, verbose=0, return_dict=True)
    base = np.sqrt(np.mean((test.r - train.r.mean()) ** 2))
    print(f"test rmse {res['rmse']:.3f}, predicting the mean {base:.3f}")


if __name__ == "__main__":
    main()
