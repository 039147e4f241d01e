"""Blob segmentation with a very small U-Net and online augmentation."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
SIZE = 24


def make_scene():
    yy, xx = np.mgrid[:SIZE, :SIZE]
    img = rng.normal(0.0, 0.25, size=(SIZE, SIZE))
    mask = np.zeros((SIZE, SIZE))
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.uniform(3, SIZE - 3, size=2)
        r = rng.uniform(2.5, 5)
        blob = (yy - cy) ** 2 + (xx - cx) ** 2 < r**2
        mask[blob] = 1.0
        img[blob] += rng.uniform(0.6, 1.0)
    return img.astype("float32")[..., None], mask.astype("float32")[..., None]


images, masks = map(np.stack, zip(*[make_scene() for _ in range(500)]))
train_x, val_x = images[:400], images[400:]
train_y, val_y = masks[:400], masks[400:]


def augment(image, mask):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.1)
    return image, mask


train_ds = (
    tf.data.Dataset.from_tensor_slices((train_x, train_y))
    .shuffle(400, seed=5)
    .map(augment)
    .batch(20)
)
val_ds = tf.data.Dataset.from_tensor_slices((val_x, val_y)).batch(50)


def conv_block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


inp = keras.Input((SIZE, SIZE, 1))
d1 = conv_block(inp, 8)
d2 = conv_block(layers.MaxPooling2D()(d1), 16)
b = conv_block(layers.MaxPooling2D()(d2), 24)
u2 = layers.Concatenate()([layers.UpSampling2D()(b), d2])
u2 = conv_block(u2, 16)
u1 = layers.Concatenate()([layers.UpSampling2D()(u2), d1])
u1 = conv_block(u1, 8)
out = layers.Conv2D(1, 1, activation="sigmoid")(u1)
model = keras.Model(inp, out)

model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss="binary_crossentropy",
    metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], threshold=0.5, name="iou")],
)
model.fit(train_ds, validation_data=val_ds, epochs=10, verbose=2)

pred = model.predict(val_x, verbose=0) > 0.5
inter = np.logical_and(pred, val_y > 0.5).sum()
union = np.logical_or(pred, val_y > 0.5).sum()
print("validation IoU: %.4f" % (inter / union))
