import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

SEED = 27
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
SIZE = 24


def picture():
    yy, xx = np.mgrid[:SIZE, :SIZE]
    img = rng.normal(scale=0.25, size=(SIZE, SIZE)) + 0.3 * np.sin(xx / rng.uniform(2, 6))
    mask = np.zeros((SIZE, SIZE))
    for _ in range(rng.integers(1, 4)):
        cx, cy, r = rng.uniform(4, 20), rng.uniform(4, 20), rng.uniform(2.5, 5)
        mask[(xx - cx) ** 2 + (yy - cy) ** 2 < r * r] = 1
    return img + mask * rng.uniform(0.6, 1.0), mask


def dataset(n):
    p = [picture() for _ in range(n)]
    return (np.stack([a for a, _ in p])[..., None].astype("float32"),
            np.stack([m for _, m in p])[..., None].astype("float32"))


x_train, m_train = dataset(600)
x_val, m_val = dataset(150)

inp = keras.Input((SIZE, SIZE, 1))
c1 = layers.Conv2D(12, 3, padding="same", activation="relu")(inp)
p1 = layers.MaxPooling2D()(c1)
c2 = layers.Conv2D(24, 3, padding="same", activation="relu")(p1)
p2 = layers.MaxPooling2D()(c2)
c3 = layers.Conv2D(32, 3, padding="same", activation="relu")(p2)
u2 = layers.Concatenate()([layers.UpSampling2D()(c3), c2])
c4 = layers.Conv2D(24, 3, padding="same", activation="relu")(u2)
u1 = layers.Concatenate()([layers.UpSampling2D()(c4), c1])
c5 = layers.Conv2D(12, 3, padding="same", activation="relu")(u1)
out = layers.Conv2D(1, 1, activation="sigmoid")(c5)
unet = keras.Model(inp, out)
unet.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy",
             metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], name="iou")])
unet.fit(x_train, m_train, batch_size=20, epochs=8, validation_data=(x_val, m_val), verbose=2)

pred = unet.predict(x_val, verbose=0) > 0.5
t = m_val > 0.5
print("foreground share %.3f" % t.mean())
print("validation Dice %.4f" % (2 * (pred & t).sum() / (pred.sum() + t.sum())))
