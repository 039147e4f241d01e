"""Two-phase transfer: train a head on frozen features, then unfreeze with a low rate (torch backend)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits


def get_data():
    d = load_digits()
    x = (d.images / 16.0)[..., None].astype("float32")
    rng = np.random.default_rng(0)
    p = rng.permutation(len(x))
    return x[p], d.target[p]


def make_backbone():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.Conv2D(32, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(),
        layers.Flatten()], name="backbone")


def pretrain(backbone, x, y):
    """Source task: digits 0-5."""
    m = keras.Sequential([backbone, layers.Dense(6, activation="softmax")])
    m.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    m.fit(x, y, epochs=5, batch_size=32, verbose=2)


def describe(tag, model):
    print(tag, "trainable tensors", len(model.trainable_weights), "of", len(model.weights))


def main():
    keras.utils.set_random_seed(1)
    x, y = get_data()
    backbone = make_backbone()
    src = y < 6
    pretrain(backbone, x[src], y[src])
    xt, yt = x[~src], y[~src] - 6
    xtr, ytr, xte, yte = xt[:200], yt[:200], xt[200:], yt[200:]

    backbone.trainable = False
    inp = keras.Input((8, 8, 1))
    h = backbone(inp, training=False)
    out = layers.Dense(4, activation="softmax")(layers.Dropout(0.3)(h))
    model = keras.Model(inp, out)
    model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    describe("head:", model)
    model.fit(xtr, ytr, epochs=15, batch_size=20, validation_data=(xte, yte), verbose=2)

    backbone.trainable = True
    model.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
    describe("all:", model)
    model.fit(xtr, ytr, epochs=8, batch_size=20, validation_data=(xte, yte), verbose=2)
    print("target accuracy", model.evaluate(xte, yte, verbose=0)[1])


if __name__ == "__main__":
    main()
