"""Pretrain on digits 0-4, then reuse the features for digits 5-9 with few labels."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import argparse

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def build_backbone():
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(32, 3, padding="same", use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Conv2D(48, 3, padding="same", use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.Flatten(),
    ], name="backbone")


def with_head(backbone, n_classes, frozen=False):
    inp = keras.Input((8, 8, 1))
    h = backbone(inp, training=False) if frozen else backbone(inp)
    h = layers.Dropout(0.2)(h)
    return keras.Model(inp, layers.Dense(n_classes, activation="softmax")(h))


def compile_(model, lr):
    model.compile(keras.optimizers.Adam(lr), loss="sparse_categorical_crossentropy",
                  metrics=["accuracy"])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pretrain-epochs", type=int, default=8)
    ap.add_argument("--head-epochs", type=int, default=10)
    ap.add_argument("--finetune-epochs", type=int, default=20)
    ap.add_argument("--shots", type=int, default=120)
    args = ap.parse_args()

    keras.utils.set_random_seed(31)
    d = load_digits()
    x = (d.images[..., None] / 8.0 - 1.0).astype("float32")
    y = d.target
    low, high = y < 5, y >= 5

    backbone = build_backbone()
    source = with_head(backbone, 5)
    compile_(source, 2e-3)
    print("--- source task")
    source.fit(x[low], y[low], epochs=args.pretrain_epochs, batch_size=32,
               validation_split=0.1, verbose=2)

    xt, xv, yt, yv = train_test_split(x[high], y[high] - 5, train_size=args.shots,
                                      stratify=y[high], random_state=0)

    print("--- head only")
    backbone.trainable = False
    target = with_head(backbone, 5, frozen=True)
    compile_(target, 1e-3)
    target.fit(xt, yt, epochs=args.head_epochs, batch_size=16, verbose=2)
    print("head only: test acc %.4f" % target.evaluate(xv, yv, verbose=0)[1])

    print("--- fine-tuning")
    backbone.trainable = True
    compile_(target, 2e-4)
    target.fit(xt, yt, epochs=args.finetune_epochs, batch_size=16, verbose=2)
    print("fine-tuned: test acc %.4f" % target.evaluate(xv, yv, verbose=0)[1])


if __name__ == "__main__":
    main()
