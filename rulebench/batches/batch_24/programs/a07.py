"""Blob segmentation with a little U-Net."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(21)
SIZE = 32
N_TRAIN, N_VAL = 320, 80


def sample(rng):
    yy, xx = np.mgrid[:SIZE, :SIZE]
    img = rng.normal(0, 0.25, (SIZE, SIZE))
    mask = np.zeros((SIZE, SIZE))
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.uniform(4, SIZE - 4, 2)
        ry, rx = rng.uniform(2, 6, 2)
        inside = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
        mask[inside] = 1
    img += mask * rng.uniform(0.7, 1.2)
    return img, mask


def build_arrays(n, seed):
    rng = np.random.default_rng(seed)
    pairs = [sample(rng) for _ in range(n)]
    x = np.stack([p[0] for p in pairs])[..., None].astype("float32")
    y = np.stack([p[1] for p in pairs])[..., None].astype("float32")
    return x, y


x_train, y_train = build_arrays(N_TRAIN, 0)
x_val, y_val = build_arrays(N_VAL, 1)

augment = keras.Sequential([
    layers.RandomFlip("horizontal_and_vertical", seed=4),
    layers.RandomContrast(0.2, seed=5),
])

train_ds = (tf.data.Dataset.from_tensor_slices((x_train, y_train))
            .shuffle(N_TRAIN, seed=0)
            .batch(16)
            .map(lambda x, y: (augment(x, training=True), y))
            .prefetch(2))
val_ds = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(80)


def conv(x, f):
    x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.Activation("relu")(x)


inp = keras.Input((SIZE, SIZE, 1))
c1 = conv(inp, 8)
c2 = conv(layers.MaxPooling2D()(c1), 16)
c3 = conv(layers.MaxPooling2D()(c2), 32)
u2 = conv(layers.Concatenate()([layers.UpSampling2D()(c3), c2]), 16)
u1 = conv(layers.Concatenate()([layers.UpSampling2D()(u2), c1]), 8)
out = layers.Conv2D(1, 1, activation="sigmoid")(u1)
unet = keras.Model(inp, out)

unet.compile(optimizer=keras.optimizers.Adam(3e-3),
             loss="binary_crossentropy",
             metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], name="iou")])
unet.fit(train_ds, validation_data=val_ds, epochs=10, verbose=2)

pred = unet.predict(x_val, verbose=0) > 0.5
inter = np.logical_and(pred, y_val > 0.5).sum((1, 2, 3))
total = pred.sum((1, 2, 3)) + (y_val > 0.5).sum((1, 2, 3))
dice = (2 * inter + 1e-6) / (total + 1e-6)
print("mean dice on validation:", dice.mean().round(4))
print("foreground share predicted / true:", pred.mean().round(4), y_val.mean().round(4))
