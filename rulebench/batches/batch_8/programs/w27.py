import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

# nucleus segmentation on 32x32 crops
rng = np.random.default_rng(31)
N, S = 500, 32
yy, xx = np.mgrid[:S, :S]
img = rng.normal(0.2, 0.1, (N, S, S, 1))
mask = np.zeros((N, S, S, 1))
for i in range(N):
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.integers(5, S - 5, 2)
        r = rng.uniform(2, 5)
        mask[i, ..., 0][(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 1
img = (img + 0.35 * mask).astype("float32")
mask = mask.astype("float32")


def dice_loss(y_true, y_pred, smooth=1.0):
    inter = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    total = ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3))
    return (2.0 * inter + smooth) / (total + smooth)


keras.utils.set_random_seed(31)
inp = keras.Input((S, S, 1))
a = layers.Conv2D(8, 3, padding="same", activation="relu")(inp)
b = layers.MaxPooling2D()(a)
b = layers.Conv2D(16, 3, padding="same", activation="relu")(b)
u = layers.UpSampling2D()(b)
c = layers.Concatenate()([a, u])
c = layers.Conv2D(8, 3, padding="same", activation="relu")(c)
out = layers.Conv2D(1, 1, activation="sigmoid")(c)
unet = keras.Model(inp, out)
unet.compile(keras.optimizers.Adam(3e-3), loss=dice_loss, metrics=["binary_accuracy"])
unet.fit(img[:400], mask[:400], batch_size=16, epochs=6, validation_data=(img[400:], mask[400:]), verbose=2)

p = unet.predict(img[400:], verbose=0) > 0.5
t = mask[400:] > 0.5
print("IoU", (p & t).sum() / (p | t).sum(), "foreground share predicted", p.mean(), "true", t.mean())
