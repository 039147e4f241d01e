"""Image classifier with a convolutional backbone and a light head (JAX backend)."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers


def textures(n, size, seed):
    r = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size] / size
    y = r.integers(0, 8, n)
    ang = y * np.pi / 8 + r.normal(0, 0.08, n)
    freq = r.uniform(2, 5, n)
    ph = r.uniform(0, 2 * np.pi, n)
    w = np.cos(ang)[:, None, None] * xx + np.sin(ang)[:, None, None] * yy
    img = np.sin(2 * np.pi * freq[:, None, None] * w + ph[:, None, None]) + r.normal(0, 0.8, (n, size, size))
    return img[..., None].astype("float32"), y


def conv_bn(x, f, stride=1):
    x = layers.Conv2D(f, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation("relu")(x)


def make_backbone(size):
    inp = keras.Input((size, size, 1))
    x = conv_bn(inp, 8)
    x = conv_bn(x, 16, 2)
    s = x
    x = conv_bn(x, 16)
    x = layers.Add()([x, s])
    x = conv_bn(x, 32, 2)
    return keras.Model(inp, layers.GlobalAveragePooling2D()(x), name="backbone")


def make_classifier(size, classes):
    backbone = make_backbone(size)
    backbone.trainable = False
    inp = keras.Input((size, size, 1))
    x = backbone(inp)
    x = layers.Dropout(0.2)(x)
    return keras.Model(inp, layers.Dense(classes, activation="softmax")(x))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-3)
    args = p.parse_args()
    keras.utils.set_random_seed(2)
    xtr, ytr = textures(1800, 16, 0)
    xva, yva = textures(500, 16, 1)
    model = make_classifier(16, 8)
    steps = args.epochs * (len(xtr) // args.batch_size + 1)
    lr = keras.optimizers.schedules.CosineDecay(args.lr, steps)
    model.compile(keras.optimizers.Adam(lr), "sparse_categorical_crossentropy", metrics=["accuracy"])
    h = model.fit(xtr, ytr, epochs=args.epochs, batch_size=args.batch_size, validation_data=(xva, yva), verbose=2)
    print("best val accuracy", max(h.history["val_accuracy"]))


if __name__ == "__main__":
    main()
