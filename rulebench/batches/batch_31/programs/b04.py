import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

# --- toy "cells" segmentation: bright blobs on a textured background -------------
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
S = 32


def sample():
    yy, xx = np.mgrid[:S, :S]
    mask = np.zeros((S, S), np.float32)
    for _ in range(rng.integers(1, 4)):
        cy, cx, r = rng.uniform(5, S - 5), rng.uniform(5, S - 5), rng.uniform(3, 6)
        mask = np.maximum(mask, ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r).astype(np.float32))
    img = 0.3 * rng.normal(size=(S, S)) + 0.2 * np.sin(xx / 3.0) + 0.8 * mask
    return img.astype(np.float32)[..., None], mask[..., None]


imgs, masks = map(np.stack, zip(*[sample() for _ in range(700)]))
train_i, train_m, test_i, test_m = imgs[:600], masks[:600], imgs[600:], masks[600:]

image_ds = tf.data.Dataset.from_tensor_slices(train_i).shuffle(600)
mask_ds = tf.data.Dataset.from_tensor_slices(train_m).shuffle(600)
train_ds = tf.data.Dataset.zip((image_ds, mask_ds)).batch(16).prefetch(2)
test_ds = tf.data.Dataset.from_tensor_slices((test_i, test_m)).batch(50)


def unet():
    inp = keras.Input((S, S, 1))
    c1 = layers.Conv2D(12, 3, padding="same", activation="relu")(inp)
    p1 = layers.MaxPooling2D()(c1)
    c2 = layers.Conv2D(24, 3, padding="same", activation="relu")(p1)
    p2 = layers.MaxPooling2D()(c2)
    c3 = layers.Conv2D(32, 3, padding="same", activation="relu")(p2)
    u2 = layers.Concatenate()([layers.UpSampling2D()(c3), c2])
    c4 = layers.Conv2D(24, 3, padding="same", activation="relu")(u2)
    u1 = layers.Concatenate()([layers.UpSampling2D()(c4), c1])
    c5 = layers.Conv2D(12, 3, padding="same", activation="relu")(u1)
    return keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(c5))


model = unet()
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy")
model.fit(train_ds, epochs=8, validation_data=test_ds, verbose=2)

p = model.predict(test_i, verbose=0) > 0.5
t = test_m > 0.5
dice = 2 * (p & t).sum() / (p.sum() + t.sum() + 1e-9)
print(f"Dice on held-out images: {dice:.4f}")
