import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(37)
rng = np.random.default_rng(37)
S = 32


def phantom():
    """Noisy slice with one small bright lesion on a textured background."""
    yy, xx = np.mgrid[:S, :S]
    bg = 0.3 * np.sin(xx / rng.uniform(3, 6) + rng.uniform(0, 6)) * np.cos(yy / rng.uniform(3, 6))
    cy, cx = rng.integers(6, S - 6, 2)
    a, b = rng.uniform(2, 5, 2)
    mask = ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 <= 1
    img = bg + 0.9 * mask + rng.normal(0, 0.25, (S, S))
    return img[..., None].astype("float32"), mask[..., None].astype("float32")


pairs = [phantom() for _ in range(360)]
X = np.stack([p[0] for p in pairs])
Y = np.stack([p[1] for p in pairs])
x_train, y_train, x_val, y_val = X[:280], Y[:280], X[280:], Y[280:]
print("foreground share", y_train.mean())


def dice_coef(y_true, y_pred):
    axes = (1, 2, 3)
    inter = ops.sum(y_true * y_pred, axis=axes)
    total = ops.sum(y_true, axis=axes) + ops.sum(y_pred, axis=axes)
    return ops.mean((2.0 * inter + 1.0) / (total + 1.0))


def bce_dice(y_true, y_pred):
    bce = ops.mean(keras.losses.binary_crossentropy(y_true, y_pred))
    return bce + 1.0 - dice_coef(y_true, y_pred)


def block(x, f):
    for _ in range(2):
        x = layers.Conv2D(f, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
    return x


inp = keras.Input((S, S, 1))
e1 = block(inp, 8)
e2 = block(layers.MaxPooling2D()(e1), 16)
mid = block(layers.MaxPooling2D()(e2), 32)
u2 = layers.Conv2DTranspose(16, 2, strides=2)(mid)
d2 = block(layers.Concatenate()([u2, e2]), 16)
u1 = layers.Conv2DTranspose(8, 2, strides=2)(d2)
d1 = block(layers.Concatenate()([u1, e1]), 8)
out = layers.Conv2D(1, 1, activation="sigmoid")(d1)
model = keras.Model(inp, out)

model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=bce_dice, metrics=[dice_coef])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=8, batch_size=20, verbose=2)
p = model.predict(x_val, verbose=0) > 0.5
inter = np.logical_and(p, y_val > 0).sum()
union = np.logical_or(p, y_val > 0).sum()
print(f"validation IoU {inter / union:.4f}")
