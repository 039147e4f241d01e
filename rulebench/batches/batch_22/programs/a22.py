"""Binary segmentation of rectangles in textured images, BCE + Dice."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(77)
SIZE = 24


def sample(rng):
    gx, gy = rng.uniform(-1, 1, 2)
    yy, xx = np.mgrid[:SIZE, :SIZE] / SIZE
    img = 0.5 * (gx * xx + gy * yy) + rng.normal(0, 0.25, (SIZE, SIZE))
    mask = np.zeros((SIZE, SIZE))
    h, w = rng.integers(6, 13, 2)
    r, c = rng.integers(0, SIZE - h), rng.integers(0, SIZE - w)
    mask[r:r + h, c:c + w] = 1
    img += mask * rng.uniform(0.5, 1.0)
    return img, mask


def dataset(n, seed):
    rng = np.random.default_rng(seed)
    imgs, masks = zip(*(sample(rng) for _ in range(n)))
    return np.array(imgs, "float32")[..., None], np.array(masks, "float32")[..., None]


def dice_loss(y_true, y_pred, smooth=1.0):
    inter = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    total = ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3))
    return 1.0 - ops.mean((2.0 * inter + smooth) / (total + smooth))


def bce_dice(y_true, y_pred):
    return ops.mean(keras.losses.binary_crossentropy(y_true, y_pred)) + dice_loss(y_true, y_pred)


def block(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
        x = layers.Activation("relu")(x)
    return x


inputs = keras.Input((SIZE, SIZE, 1))
c1 = block(inputs, 8)
c2 = block(layers.MaxPooling2D()(c1), 16)
u1 = layers.Conv2DTranspose(8, 2, strides=2)(c2)
c3 = block(layers.concatenate([u1, c1]), 8)
outputs = layers.Conv2D(1, 1, activation="sigmoid")(c3)
unet = keras.Model(inputs, outputs)
unet.compile(optimizer=keras.optimizers.Adam(2e-3), loss=bce_dice,
             metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], threshold=0.5, name="iou")])

x_train, y_train = dataset(640, 0)
x_val, y_val = dataset(160, 1)
x_test, y_test = dataset(160, 2)
unet.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=6, batch_size=32, verbose=2)
print("test loss, IoU:", unet.evaluate(x_test, y_test, verbose=0))
