"""Few-label digit recognition.

Step 1: denoising auto-encoder on all the unlabelled scans.
Step 2: small classifier on top of the (frozen) encoder, 100 labelled scans.
"""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

seed = 3
keras.utils.set_random_seed(seed)
rng = np.random.default_rng(seed)

digits = load_digits()
X = (digits.data / 16.0).astype("float32")
y = digits.target.astype("int32")
order = rng.permutation(len(X))
X, y = X[order], y[order]
X_unl, X_test, y_test = X[:1300], X[1300:], y[1300:]
X_lab, y_lab = X[:100], y[:100]


def build_encoder():
    return keras.Sequential([
        keras.Input((64,)),
        layers.Dense(96, activation="elu"),
        layers.Dense(64, activation="elu"),
        layers.Dense(32, activation="elu"),
        layers.Dense(10),
    ], name="encoder")


def build_decoder():
    return keras.Sequential([
        keras.Input((10,)),
        layers.Dense(64, activation="elu"),
        layers.Dense(96, activation="elu"),
        layers.Dense(64, activation="sigmoid"),
    ], name="decoder")


def pretrain(encoder, decoder, epochs=70):
    inp = keras.Input((64,))
    ae = keras.Model(inp, decoder(encoder(inp)))
    ae.compile(keras.optimizers.Adam(2e-3), "mse")
    noisy = X_unl + rng.normal(0, 0.15, X_unl.shape).astype("float32")
    h = ae.fit(noisy, X_unl, epochs=epochs, batch_size=64, verbose=0)
    print("auto-encoder mse %.4f -> %.4f" % (h.history["loss"][0], h.history["loss"][-1]))


def finetune(encoder):
    encoder.trainable = False
    inp = keras.Input((64,))
    z = layers.BatchNormalization()(encoder(inp))
    z = layers.Dense(32, activation="relu")(z)
    out = layers.Dense(10)(z)
    clf = keras.Model(inp, out)
    clf.compile(keras.optimizers.Adam(3e-3),
                keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                metrics=["accuracy"])
    h = clf.fit(X_lab, y_lab, epochs=100, batch_size=20, verbose=0)
    for e in range(0, 100, 20):
        print("  epoch", e, "loss %.3f acc %.3f" % (h.history["loss"][e], h.history["accuracy"][e]))
    return clf


pretrain(build_encoder(), build_decoder())
clf = finetune(build_encoder())
loss, acc = clf.evaluate(X_test, y_test, verbose=0)
print(f"test accuracy with 100 labels: {acc:.3f}  (loss {loss:.3f})")
