import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import argparse
import numpy as np
import keras
from keras import layers


def make_sums(n, length, seed):
    """Adding problem: sum of the two marked values."""
    r = np.random.default_rng(seed)
    v = r.uniform(0, 1, (n, length))
    m = np.zeros((n, length))
    for row in m:
        row[r.choice(length, 2, replace=False)] = 1
    return np.stack([v, m], -1).astype("float32"), (v * m).sum(1).astype("float32")


def make_schedule(lr, epochs, steps_per_epoch):
    drops = [int(epochs * 0.6), int(epochs * 0.85)]
    boundaries = drops
    return keras.optimizers.schedules.PiecewiseConstantDecay(boundaries, [lr, lr * 0.2, lr * 0.04])


class LrPrinter(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: loss {logs['loss']:.4f} val_loss {logs['val_loss']:.4f}")


def build_model(length, units):
    inp = keras.Input((length, 2))
    h = layers.GRU(units, activation="tanh")(inp)
    h = layers.Dense(16, activation="relu")(h)
    return keras.Model(inp, layers.Dense(1)(h))


def show_examples(model, x, y, k=3):
    p = model.predict(x[:k], verbose=0)[:, 0]
    for a, b in zip(y[:k], p):
        print(f"   target {a:.3f} prediction {b:.3f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--length", type=int, default=12)
    ap.add_argument("--units", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=4e-3)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    x, y = make_sums(3000, args.length, 0)
    xv, yv = make_sums(800, args.length, 1)
    model = build_model(args.length, args.units)
    sched = make_schedule(args.lr, args.epochs, int(np.ceil(len(x) / args.batch_size)))
    model.compile(keras.optimizers.Adam(sched), "mse")
    model.fit(x, y, validation_data=(xv, yv), epochs=args.epochs, batch_size=args.batch_size, verbose=0, callbacks=[LrPrinter()])
    show_examples(model, xv, yv)
    print("baseline variance", float(np.var(yv)), "final val mse", model.evaluate(xv, yv, verbose=0))


if __name__ == "__main__":
    main()
