import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers

SEED = 7


def make_spirals(n, turns, noise, rng):
    t = np.sqrt(rng.uniform(0.02, 1, n)) * turns * 2 * np.pi
    cls = rng.integers(0, 3, n)
    ang = t + cls * 2 * np.pi / 3
    r = t / (turns * 2 * np.pi)
    X = np.stack([r * np.cos(ang), r * np.sin(ang)], 1) + noise * rng.normal(size=(n, 2))
    return X.astype("float32") * 2, cls


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=100)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()

    keras.utils.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    X, y = make_spirals(2500, 1.3, 0.012, rng)
    Xtr, ytr, Xva, yva = X[:2000], y[:2000], X[2000:], y[2000:]

    model = keras.Sequential([
        layers.Input((2,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(3, activation="softmax"),
    ])
    model.compile(
        optimizer=keras.optimizers.Adam(args.lr),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    cbs = [
        keras.callbacks.ReduceLROnPlateau(monitor="val_accuracy", mode="min", factor=0.5,
                                          patience=4, min_lr=1e-6),
    ]
    hist = model.fit(Xtr, ytr, batch_size=args.batch, epochs=args.epochs,
                     validation_data=(Xva, yva), callbacks=cbs, verbose=2)

    loss, acc = model.evaluate(Xva, yva, verbose=0)
    print("best val acc:", max(hist.history["val_accuracy"]))
    print(f"final val loss {loss:.4f} acc {acc:.4f}")


if __name__ == "__main__":
    main()
