# Pretrain an autoencoder on unlabelled signals, then train a small head on few labels.
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(13)

LENGTH = 128
CODE = 4
CLASSES = 4


def signals(n, seed):
    """Noisy one-dimensional signals with a class template each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    basis = np.random.default_rng(0).normal(size=(CLASSES, LENGTH)).astype("float32")
    nuisance = np.random.default_rng(1).normal(size=(2, LENGTH)).astype("float32")
    amp = rng.uniform(0.8, 1.2, size=(n, 1))
    x = amp * basis[y] + rng.normal(0, 0.4, (n, 2)) @ nuisance + rng.normal(0, 2.5, (n, LENGTH))
    return x.astype("float32") / 2.8, y.astype("int32")


x_unlabelled, _ = signals(4000, 10)
x_few, y_few = signals(60, 11)
x_test, y_test = signals(1500, 12)


def build_encoder():
    return keras.Sequential([
        keras.Input((LENGTH,)),
        layers.Dense(32, activation="tanh"),
        layers.Dense(CODE),
    ], name="encoder")


def build_decoder():
    return keras.Sequential([
        keras.Input((CODE,)),
        layers.Dense(32, activation="tanh"),
        layers.Dense(LENGTH),
    ], name="decoder")


def pretrain():
    encoder, decoder = build_encoder(), build_decoder()
    inp = keras.Input((LENGTH,))
    ae = keras.Model(inp, decoder(encoder(inp)))
    ae.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse")
    ae.fit(x_unlabelled, x_unlabelled, epochs=12, batch_size=64, verbose=2)
    return ae


def build_classifier():
    encoder = build_encoder()
    encoder.trainable = False
    inp = keras.Input((LENGTH,))
    h = encoder(inp)
    h = layers.Dense(16, activation="relu")(h)
    out = layers.Dense(CLASSES, activation="softmax")(h)
    clf = keras.Model(inp, out)
    clf.compile(
        optimizer=keras.optimizers.Adam(1e-2),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return clf


ae = pretrain()
print("reconstruction mse:", ae.evaluate(x_test, x_test, verbose=0))

clf = build_classifier()
clf.fit(x_few, y_few, epochs=60, batch_size=16, verbose=0)
print("labelled accuracy:", clf.evaluate(x_few, y_few, verbose=0)[1])
print("test accuracy    :", clf.evaluate(x_test, y_test, verbose=0)[1])
