import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers


def load_series(n, seed):
    """Hourly load of a small grid: daily and weekly cycle and autocorrelated noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = 0.6 * noise[i - 1] + rng.normal(0, 3.0)
    return 50 + 8 * np.sin(2 * np.pi * t / 24) + 4 * np.sin(2 * np.pi * t / 168) + noise


def make_windows(series, lookback):
    xs, ys = [], []
    for end in range(lookback, len(series)):
        xs.append(series[end - lookback + 1:end + 1])
        ys.append(series[end])
    return np.array(xs, "float32")[..., None], np.array(ys, "float32")


def build(lookback, width):
    model = keras.Sequential([
        keras.Input((lookback, 1)),
        layers.Conv1D(width, 5, padding="causal", activation="relu"),
        layers.Conv1D(width, 5, padding="causal", dilation_rate=4, activation="relu"),
        layers.Flatten(),
        layers.Dense(width, activation="relu"),
        layers.Dense(1),
    ])
    return model


def rollout(model, history, steps, lookback):
    """Predicts `steps` values, each from the ones before."""
    buf = list(history[-lookback:])
    out = []
    for _ in range(steps):
        x = np.array(buf[-lookback:], "float32")[None, :, None]
        nxt = float(keras.ops.convert_to_numpy(model(x, training=False))[0, 0])
        out.append(nxt)
        buf.append(nxt)
    return np.array(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lookback", type=int, default=48)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    keras.utils.set_random_seed(args.seed)

    series = load_series(3000, args.seed)
    cut, cut2 = 2200, 2700
    mu, sd = series[:cut].mean(), series[:cut].std()
    z = (series - mu) / sd
    x_tr, y_tr = make_windows(z[:cut], args.lookback)
    x_va, y_va = make_windows(z[cut - args.lookback:cut2], args.lookback)

    model = build(args.lookback, args.width)
    model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
    model.fit(x_tr, y_tr, batch_size=64, epochs=args.epochs, validation_data=(x_va, y_va), verbose=2)

    mae = model.evaluate(x_va, y_va, verbose=0)[1] * sd
    print(f"one step validation MAE {mae:.3f}")
    errs = []
    for start in range(cut2, 2950, 24):
        pred = rollout(model, z[:start], 24, args.lookback) * sd + mu
        errs.append(np.abs(pred - series[start:start + 24]).mean())
    naive = np.abs(series[cut2:2950] - series[cut2 - 24:2950 - 24]).mean()
    print(f"24 step rollout MAE {np.mean(errs):.3f}, same hour yesterday {naive:.3f}")


if __name__ == "__main__":
    main()
