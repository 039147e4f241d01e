"""Few labels, many unlabelled images: pretrain an autoencoder, then train a classifier head."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def build_encoder(code):
    return keras.Sequential([
        keras.Input((64,)),
        layers.Dense(96, activation="relu"),
        layers.Dense(48, activation="relu"),
        layers.Dense(code),
        layers.LayerNormalization(),
    ], name="encoder")


def build_decoder(code):
    return keras.Sequential([
        keras.Input((code,)),
        layers.Dense(96, activation="relu"),
        layers.Dense(64, activation="sigmoid"),
    ], name="decoder")


def pretrain(x, code, epochs):
    encoder, decoder = build_encoder(code), build_decoder(code)
    inp = keras.Input((64,))
    noisy = layers.GaussianNoise(0.15)(inp)
    ae = keras.Model(inp, decoder(encoder(noisy)))
    ae.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy")
    h = ae.fit(x, x, epochs=epochs, batch_size=64, verbose=0)
    print("pretraining loss %.4f -> %.4f" % (h.history["loss"][0], h.history["loss"][-1]))
    return encoder


def build_classifier(encoder):
    encoder.trainable = False
    inp = keras.Input((64,))
    x = encoder(inp, training=False)
    x = layers.Dropout(0.1)(x)
    out = layers.Dense(10, activation="softmax")(x)
    return keras.Model(inp, out, name="classifier")


def pick_labelled(y, per_class, rng):
    return np.concatenate([rng.choice(np.where(y == c)[0], per_class, replace=False) for c in range(10)])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--per-class", type=int, default=15)
    ap.add_argument("--code", type=int, default=8)
    ap.add_argument("--ae-epochs", type=int, default=40)
    ap.add_argument("--epochs", type=int, default=60)
    args = ap.parse_args()
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)

    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype("float32")
    X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)

    encoder = pretrain(X_tr, args.code, args.ae_epochs)
    lab = pick_labelled(y_tr, args.per_class, rng)
    clf = build_classifier(build_encoder(args.code))
    clf.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
    clf.summary()
    clf.fit(X_tr[lab], y_tr[lab], epochs=args.epochs, batch_size=16, verbose=2,
            validation_data=(X_te, y_te))
    print("test accuracy", clf.evaluate(X_te, y_te, verbose=0)[1])


if __name__ == "__main__":
    main()
