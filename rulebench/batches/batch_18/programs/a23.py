"""Small CNN for 16x16 shape images (8 bit grey values)."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import argparse
import numpy as np
import keras
from keras import layers

CLASSES = ["disc", "square", "cross", "stripe"]


def draw(kind, rng):
    img = rng.normal(60, 20, (16, 16))
    cy, cx = rng.integers(5, 11, 2)
    r = rng.integers(3, 5)
    yy, xx = np.mgrid[:16, :16]
    if kind == 0:
        mask = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
    elif kind == 1:
        mask = (abs(yy - cy) <= r - 1) & (abs(xx - cx) <= r - 1)
    elif kind == 2:
        mask = ((abs(yy - cy) <= 1) & (abs(xx - cx) <= r)) | ((abs(xx - cx) <= 1) & (abs(yy - cy) <= r))
    else:
        mask = (yy + xx + cx) % 5 < 2
    img[mask] += rng.uniform(50, 120)
    return np.clip(img, 0, 255).astype("uint8")


def make_split(n, rng):
    y = rng.integers(0, len(CLASSES), n)
    x = np.stack([draw(k, rng) for k in y])[..., None]
    return x, y


def augment(x, rng):
    flip = rng.random(len(x)) < 0.5
    x = x.copy()
    x[flip] = x[flip][:, :, ::-1]
    return x


def build_model(width):
    inputs = keras.Input((16, 16, 1))
    x = layers.Conv2D(width, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(2 * width, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    x = layers.Dropout(0.2)(x)
    outputs = layers.Dense(len(CLASSES), activation="softmax")(x)
    return keras.Model(inputs, outputs)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--width", type=int, default=8)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    keras.utils.set_random_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    x_train, y_train = make_split(1200, rng)
    x_val, y_val = make_split(400, rng)

    x_train = augment(x_train, rng)
    x_train = (x_train.astype("float32") / 255.0 - 0.35) / 0.2
    x_val = x_val.astype("float32")

    model = build_model(args.width)
    model.compile(optimizer=keras.optimizers.Adam(2e-3),
                  loss="sparse_categorical_crossentropy",
                  metrics=["accuracy"])
    model.fit(x_train, y_train, epochs=args.epochs, batch_size=args.batch_size,
              validation_data=(x_val, y_val), verbose=2)

    pred = model.predict(x_val, verbose=0).argmax(1)
    for k, name in enumerate(CLASSES):
        print(f"{name:8s} recall {np.mean(pred[y_val == k] == k):.3f}")


if __name__ == "__main__":
    main()
