import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers


def shapes(n, rng, s=14):
    """squares, crosses, diagonals, rings"""
    x = rng.normal(0, 0.35, (n, s, s, 1))
    y = rng.integers(0, 4, n)
    for i in range(n):
        r, c = rng.integers(1, s - 6, 2)
        p = np.zeros((5, 5))
        if y[i] == 0:
            p[:] = 1
        elif y[i] == 1:
            p[2, :] = p[:, 2] = 1
        elif y[i] == 2:
            np.fill_diagonal(p, 1)
        else:
            p[0, :] = p[-1, :] = p[:, 0] = p[:, -1] = 1
        x[i, r:r + 5, c:c + 5, 0] += p
    return x.astype("float32"), y


def build(filters):
    i = layers.Input((14, 14, 1))
    x = i
    for f in filters:
        x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization(momentum=0.9)(x)
        x = layers.ReLU()(x)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(i, layers.Dense(4)(x))


def get_callbacks():
    return [
        keras.callbacks.ReduceLROnPlateau(monitor="val_accuracy", mode="min", factor=0.3, patience=2, verbose=0),
        keras.callbacks.TerminateOnNaN(),
    ]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    xtr, ytr = shapes(1200, rng)
    xva, yva = shapes(400, rng)
    model = build([8, 16])
    model.compile(optimizer=keras.optimizers.Adam(args.lr),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(xtr, ytr, batch_size=64, epochs=args.epochs, validation_data=(xva, yva),
              callbacks=get_callbacks(), verbose=2)
    print("final", model.evaluate(xva, yva, verbose=0))
    print("lr at the end", float(model.optimizer.learning_rate))


if __name__ == "__main__":
    main()
