"""Hourly load forecasting, 24 steps of history -> load h hours ahead."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import argparse
import numpy as np
import keras
from keras import layers


def make_series(n, rng):
    t = np.arange(n)
    daily = 10 * np.sin(2 * np.pi * t / 24 - 1.2)
    weekly = 4 * np.sin(2 * np.pi * t / 168)
    ar = np.zeros(n)
    for i in range(1, n):
        ar[i] = 0.8 * ar[i - 1] + rng.normal(0, 3.0)
    return (60 + daily + weekly + ar).astype("float32")


class WindowMaker:
    def __init__(self, series, lookback, horizon):
        self.series = series
        self.lookback = lookback
        self.horizon = horizon

    def arrays(self, start, stop):
        xs, ys = [], []
        for i in range(start, stop - self.lookback - self.horizon):
            xs.append(self.series[i:i + self.lookback])
            ys.append(self.series[i + self.lookback - self.horizon])
        return np.asarray(xs)[..., None], np.asarray(ys)


def build(lookback, units):
    inp = keras.Input((lookback, 1))
    h = layers.GRU(units)(inp)
    h = layers.Dense(units, activation="relu")(h)
    return keras.Model(inp, layers.Dense(1)(h))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lookback", type=int, default=24)
    ap.add_argument("--horizon", type=int, default=6)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--units", type=int, default=24)
    args = ap.parse_args()
    keras.utils.set_random_seed(9)
    rng = np.random.default_rng(9)

    series = make_series(3000, rng)
    cut1, cut2 = 2100, 2500
    mean, std = series[:cut1].mean(), series[:cut1].std()
    wm = WindowMaker((series - mean) / std, args.lookback, args.horizon)
    x_tr, y_tr = wm.arrays(0, cut1)
    x_va, y_va = wm.arrays(cut1, cut2)

    model = build(args.lookback, args.units)
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
    model.fit(x_tr, y_tr, epochs=args.epochs, batch_size=64, validation_data=(x_va, y_va), verbose=2)

    # live use on the last stretch: stand at hour i, forecast hour i + horizon
    scaled = (series - mean) / std
    hours = np.arange(cut2 + args.lookback, len(series) - args.horizon)
    hist = np.stack([scaled[i - args.lookback + 1:i + 1] for i in hours])[..., None]
    pred = model.predict(hist, verbose=0)[:, 0] * std + mean
    actual = series[hours + args.horizon]
    print("live MAE %.2f   seasonal naive MAE %.2f" % (
        np.abs(pred - actual).mean(), np.abs(series[hours + args.horizon - 24] - actual).mean()))


if __name__ == "__main__":
    main()
