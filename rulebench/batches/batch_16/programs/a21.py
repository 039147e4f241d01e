import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def conv_base():
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Conv2D(48, 3, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.Flatten(),
    ], name="base")


def classifier(base, n):
    inp = keras.Input((8, 8, 1))
    h = layers.RandomTranslation(0.05, 0.05)(inp)
    h = base(h, training=False) if not base.trainable else base(h)
    return keras.Model(inp, layers.Dense(n, activation="softmax")(h))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pretrain-epochs", type=int, default=10)
    p.add_argument("--head-epochs", type=int, default=10)
    p.add_argument("--tune-epochs", type=int, default=8)
    args = p.parse_args()
    keras.utils.set_random_seed(8)

    d = load_digits()
    x = (d.images[..., None] / 16.0).astype("float32")
    y = d.target
    src, dst = y < 6, y >= 6

    base = conv_base()
    pre = classifier(base, 6)
    pre.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    pre.fit(x[src], y[src], epochs=args.pretrain_epochs, batch_size=32, verbose=2)

    x_tr, x_te, y_tr, y_te = train_test_split(x[dst], y[dst] - 6, train_size=0.4, random_state=0)
    base.trainable = False
    model = classifier(base, 4)
    model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_tr, y_tr, epochs=args.head_epochs, batch_size=32, validation_data=(x_te, y_te), verbose=2)
    print("head only", model.evaluate(x_te, y_te, verbose=0)[1])

    base.trainable = True
    model.compile(keras.optimizers.Adam(5e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_tr, y_tr, epochs=args.tune_epochs, batch_size=32, validation_data=(x_te, y_te), verbose=2)
    print("fine tuned", model.evaluate(x_te, y_te, verbose=0)[1])


if __name__ == "__main__":
    main()
