import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers


def parse_args():
    p = argparse.ArgumentParser(description="One step ahead forecast of hourly load")
    p.add_argument("--window", type=int, default=24)
    p.add_argument("--hours", type=int, default=1600)
    p.add_argument("--units", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.3)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


def make_series(hours, rng):
    t = np.arange(hours)
    daily = 8 * np.sin(2 * np.pi * t / 24)
    weekly = 4 * np.sin(2 * np.pi * t / 168)
    noise = rng.normal(0, 1.0, hours)
    return (50 + daily + weekly + noise).astype("float32")


def windows(series, width):
    xs = np.stack([series[i:i + width] for i in range(len(series) - width)])
    ys = series[width:]
    return xs[..., None], ys[:, None]


def build(width, units):
    return keras.Sequential([
        layers.Input((width, 1)),
        layers.LSTM(units),
        layers.Dense(16, activation="relu"),
        layers.Dense(1),
    ])


def main():
    args = parse_args()
    keras.utils.set_random_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    series = make_series(args.hours, rng)
    cut = int(0.8 * len(series))
    mean, std = series[:cut].mean(), series[:cut].std()
    scaled = (series - mean) / std

    x_train, y_train = windows(scaled[:cut], args.window)
    x_test, y_test = windows(scaled[cut - args.window:], args.window)
    print("train", x_train.shape, "test", x_test.shape)

    model = build(args.window, args.units)
    model.compile(optimizer=keras.optimizers.Adam(learning_rate=args.lr), loss="mse")
    model.fit(x_train, y_train, epochs=args.epochs, batch_size=args.batch_size,
              validation_data=(x_test, y_test), verbose=2)

    pred = model.predict(x_test, verbose=0)
    rmse = np.sqrt(np.mean((pred - y_test) ** 2)) * std
    naive = np.sqrt(np.mean((x_test[:, -1] - y_test) ** 2)) * std
    print(f"rmse {rmse:.3f}  naive {naive:.3f}  std of load {std:.3f}")


if __name__ == "__main__":
    main()
