"""Toy segmentation: find the bright blobs on a noisy background."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers, ops

SEED = 5
IMG = 24
keras.utils.set_random_seed(SEED)


def make_scene(rng):
    img = rng.normal(0.0, 0.35, (IMG, IMG))
    mask = np.zeros((IMG, IMG), dtype=np.uint8)
    yy, xx = np.mgrid[:IMG, :IMG]
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.uniform(4, IMG - 4, 2)
        r = rng.uniform(2, 5)
        blob = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
        mask[blob] = 255
    img += 0.8 * (mask > 0)
    return img[..., None], mask[..., None]


def make_set(n, seed):
    rng = np.random.default_rng(seed)
    pairs = [make_scene(rng) for _ in range(n)]
    x, y = zip(*pairs)
    return np.array(x, "float32"), np.array(y, "float32")


x_train, y_train = make_set(800, 1)
x_val, y_val = make_set(200, 2)
print("foreground share:", (y_train > 0).mean().round(3))


def conv(x, f):
    x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(f, 3, padding="same", activation="relu")(x)


def build_unet():
    inp = keras.Input((IMG, IMG, 1))
    e1 = conv(inp, 8)
    p1 = layers.MaxPooling2D()(e1)
    e2 = conv(p1, 16)
    u1 = layers.UpSampling2D()(e2)
    d1 = conv(layers.Concatenate()([u1, e1]), 8)
    out = layers.Conv2D(1, 1)(d1)
    return keras.Model(inp, out)


def iou(y_true, y_pred):
    y_true = ops.cast(y_true > 0, "float32")
    pred = ops.cast(y_pred > 0.0, "float32")
    inter = ops.sum(pred * y_true)
    union = ops.sum(pred) + ops.sum(y_true) - inter
    return inter / (union + 1e-6)


model = build_unet()
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[iou],
)
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=8, batch_size=32, verbose=2)

pred = model.predict(x_val, verbose=0) > 0
truth = y_val > 0
inter = (pred & truth).sum()
print("val IoU:", inter / (pred.sum() + truth.sum() - inter))
print("val pixel accuracy:", (pred == truth).mean())
