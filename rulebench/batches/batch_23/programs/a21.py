import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)
SIZE = 24


def make_images(n):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    imgs = 0.25 * rng.normal(size=(n, SIZE, SIZE))
    masks = np.zeros((n, SIZE, SIZE))
    for i in range(n):
        for _ in range(rng.integers(1, 4)):
            cy, cx = rng.uniform(4, SIZE - 4, 2)
            r = rng.uniform(2, 5)
            blob = ((yy - cy) ** 2 + (xx - cx) ** 2) < r * r
            masks[i][blob] = 1
            imgs[i][blob] += rng.uniform(0.4, 0.9)
        imgs[i] += np.linspace(0, rng.uniform(-0.4, 0.4), SIZE)[None]
    return imgs[..., None].astype("float32"), masks[..., None].astype("float32")


x_train, m_train = make_images(400)
x_val, m_val = make_images(120)


def conv(x, f):
    x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(f, 3, padding="same", activation="relu")(x)


inp = keras.Input((SIZE, SIZE, 1))
d1 = conv(inp, 8)
d2 = conv(layers.MaxPooling2D()(d1), 16)
mid = conv(layers.MaxPooling2D()(d2), 24)
u2 = conv(layers.Concatenate()([layers.UpSampling2D()(mid), d2]), 16)
u1 = conv(layers.Concatenate()([layers.UpSampling2D()(u2), d1]), 8)
model = keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(u1))


def bce_dice(y_true, y_pred):
    bce = ops.mean(keras.losses.binary_crossentropy(y_true, y_pred), axis=(1, 2))
    inter = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    total = ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3))
    return bce + 1 - (2 * inter + 1) / (total + 1)


model.compile(
    optimizer=keras.optimizers.Adam(4e-3, gradient_accumulation_steps=4,
                                    use_ema=True, ema_momentum=0.98),
    loss=bce_dice,
    metrics=[keras.metrics.BinaryIoU([1], threshold=0.5, name="iou")],
    jit_compile=False,
)
model.fit(x_train, m_train, validation_data=(x_val, m_val), epochs=5, batch_size=4, verbose=2,
          callbacks=[keras.callbacks.SwapEMAWeights(swap_on_epoch=True)])

pred = model.predict(x_val, verbose=0) > 0.5
truth = m_val > 0.5
dice = 2 * (pred & truth).sum() / (pred.sum() + truth.sum())
print("validation dice:", round(float(dice), 4))
