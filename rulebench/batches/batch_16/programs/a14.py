import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers


class WindowDataset(keras.utils.PyDataset):
    """Sliding windows over a multichannel series, target is channel 0 of the next step."""

    def __init__(self, series, window, batch_size, shuffle, **kw):
        super().__init__(**kw)
        self.series = series
        self.window = window
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.starts = np.arange(len(series) - window - 1)
        self.rng = np.random.default_rng(0)
        self.on_epoch_end()

    def __len__(self):
        return int(np.ceil(len(self.starts) / self.batch_size))

    def __getitem__(self, i):
        idx = self.starts[i * self.batch_size:(i + 1) * self.batch_size]
        x = np.stack([self.series[s:s + self.window] for s in idx])
        y = np.stack([self.series[s + self.window - 1, :1] for s in idx])
        return x, y

    def on_epoch_end(self):
        if self.shuffle:
            self.rng.shuffle(self.starts)


def simulate(n, rng):
    """Daily returns of three related assets (second order autoregression with noise)."""
    a1 = np.array([[0.3, 0.3, 0.0], [0.0, 0.4, 0.2], [0.1, 0.0, 0.3]])
    a2 = np.array([[-0.2, 0.2, 0.1], [0.0, -0.1, 0.0], [0.0, 0.2, -0.2]])
    r = np.zeros((n, 3))
    for t in range(2, n):
        r[t] = a1 @ r[t - 1] + a2 @ r[t - 2] + rng.normal(0, 1, 3)
    return r.astype("float32")


def build(window, channels, units=16):
    inp = keras.Input((window, channels))
    h = layers.GRU(units)(inp)
    h = layers.Dense(16, activation="relu")(h)
    return keras.Model(inp, layers.Dense(1)(h))


def backtest(model, series, window):
    """Walk through the series and predict each step from the steps before it."""
    t = np.arange(window, len(series))
    past = np.stack([series[i - window:i] for i in t])
    pred = model.predict(past, verbose=0)[:, 0]
    real = series[t, 0]
    mse = np.mean((pred - real) ** 2)
    hit = np.mean(np.sign(pred) == np.sign(real))
    return mse, hit


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--window", type=int, default=10)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=64)
    args = p.parse_args()
    keras.utils.set_random_seed(9)
    rng = np.random.default_rng(9)

    series = simulate(4000, rng)
    n = len(series)
    train, valid, test = series[:int(.7 * n)], series[int(.7 * n):int(.85 * n)], series[int(.85 * n):]
    mu, sd = train.mean(0), train.std(0)
    train, valid, test = (train - mu) / sd, (valid - mu) / sd, (test - mu) / sd

    model = build(args.window, series.shape[1])
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
    model.fit(WindowDataset(train, args.window, args.batch_size, True),
              validation_data=WindowDataset(valid, args.window, args.batch_size, False),
              epochs=args.epochs, verbose=2)
    mse, hit = backtest(model, test, args.window)
    print(f"backtest mse {mse:.4f}, right direction {hit:.3f}, variance {test[:, 0].var():.4f}")


if __name__ == "__main__":
    main()
