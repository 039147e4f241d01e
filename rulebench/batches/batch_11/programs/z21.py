"""Energy-use anomaly regression with a wide-and-deep Keras model."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import pandas as pd
import keras
from keras import layers

SEED, EPOCHS, BATCH = 21, 15, 64


def make_frame(n, seed):
    r = np.random.default_rng(seed)
    df = pd.DataFrame({"temp": r.normal(12, 8, n), "hour": r.integers(0, 24, n), "weekday": r.integers(0, 7, n), "wind": r.gamma(2, 2, n)})
    use = 40 - 1.5 * df.temp + 10 * np.sin((df.hour - 6) / 24 * 2 * np.pi) - 12 * (df.weekday >= 5) + 0.8 * df.wind
    df["delta"] = use - use.mean() + r.normal(0, 3, n)
    return df


def encode(df, stats=None):
    num = df[["temp", "wind"]].to_numpy("float32")
    stats = stats or (num.mean(0), num.std(0), float(df.delta.mean()), float(df.delta.std()))
    num = (num - stats[0]) / stats[1]
    y = (df.delta.to_numpy("float32") - stats[2]) / stats[3]
    return {"num": num, "hour": df.hour.to_numpy("int32"), "weekday": df.weekday.to_numpy("int32")}, y[:, None], stats


def linear_baseline(tr, te):
    """Least squares on the two numeric columns, for reference."""
    add = lambda a: np.c_[a, np.ones(len(a))]
    coef, *_ = np.linalg.lstsq(add(tr[0]["num"]), tr[1], rcond=None)
    return r2(te[1], add(te[0]["num"]) @ coef)


def r2(y, p):
    return float(1 - ((p - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def build():
    num, hour, wd = keras.Input((2,), name="num"), keras.Input((), dtype="int32", name="hour"), keras.Input((), dtype="int32", name="weekday")
    h = layers.Concatenate()([num, layers.Embedding(24, 6)(hour), layers.Embedding(7, 3)(wd)])
    deep = layers.Dense(48, activation="relu")(h)
    deep = layers.Dense(48, activation="relu")(deep)
    h = layers.Concatenate()([deep, num])
    out = layers.Dense(1)(h)
    out = layers.Dense(1, activation="relu")(h)
    return keras.Model({"num": num, "hour": hour, "weekday": wd}, out)


def main():
    keras.utils.set_random_seed(SEED)
    xtr, ytr, stats = encode(make_frame(3000, 0))
    xte, yte, _ = encode(make_frame(800, 1), stats)
    model = build()
    model.compile(keras.optimizers.Adam(2e-3), "mse", metrics=["mae"])
    model.fit(xtr, ytr, validation_split=0.15, epochs=EPOCHS, batch_size=BATCH, verbose=2)
    p = model.predict(xte, verbose=0, batch_size=200)[:, :1]
    print("test R2", r2(yte, p), "linear baseline", linear_baseline((xtr, ytr), (xte, yte)))


if __name__ == "__main__":
    main()
