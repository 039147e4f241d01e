import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
SIZE = 32
NUM_CLASSES = 3  # background, disc, square


def draw_scene():
    img = rng.normal(0.0, 0.15, size=(SIZE, SIZE, 1)).astype("float32")
    mask = np.zeros((SIZE, SIZE), dtype="int32")
    yy, xx = np.mgrid[:SIZE, :SIZE]
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(1, 3)
        cy, cx = rng.integers(6, SIZE - 6, size=2)
        r = rng.integers(3, 7)
        if kind == 1:
            region = (yy - cy) ** 2 + (xx - cx) ** 2 <= r**2
            value = 0.6
        else:
            region = (abs(yy - cy) <= r) & (abs(xx - cx) <= r)
            value = 1.0
        img[region, 0] = value + rng.normal(0, 0.15, size=region.sum())
        mask[region] = kind
    return img, mask


scenes = [draw_scene() for _ in range(300)]
images = np.stack([s[0] for s in scenes])
masks = np.stack([s[1] for s in scenes])
x_train, y_train, x_val, y_val = images[:240], masks[:240], images[240:], masks[240:]


def conv_block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same")(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.Activation("relu")(x)


def build_unet():
    inp = keras.Input((SIZE, SIZE, 1))
    d1 = conv_block(inp, 12)
    p1 = layers.MaxPooling2D()(d1)
    d2 = conv_block(p1, 24)
    p2 = layers.MaxPooling2D()(d2)
    b = conv_block(p2, 32)
    u2 = layers.Concatenate()([layers.UpSampling2D()(b), d2])
    c2 = conv_block(u2, 24)
    u1 = layers.Concatenate()([layers.UpSampling2D()(c2), d1])
    c1 = conv_block(u1, 12)
    logits = layers.Conv2D(NUM_CLASSES, 1)(c1)
    probs = layers.Softmax(axis=1)(logits)
    return keras.Model(inp, probs)


model = build_unet()
model.compile(
    optimizer=keras.optimizers.Adam(3e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(x_train, y_train, epochs=7, batch_size=16, validation_data=(x_val, y_val), verbose=2)

pred = model.predict(x_val, verbose=0).argmax(-1)
for c, name in enumerate(["background", "disc", "square"]):
    inter = np.sum((pred == c) & (y_val == c))
    union = np.sum((pred == c) | (y_val == c))
    print(f"IoU {name:10s} {inter / max(union, 1):.4f}")
