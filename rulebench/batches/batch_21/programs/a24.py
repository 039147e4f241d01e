import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

from dataclasses import dataclass

import numpy as np
import keras
from keras import layers


@dataclass
class Config:
    size: int = 16
    n_train: int = 320
    n_val: int = 96
    batch_size: int = 16
    epochs: int = 8
    lr: float = 2e-3
    seed: int = 21


cfg = Config()
keras.utils.set_random_seed(cfg.seed)


def draw_sample(rng, size):
    """A bright ellipse somewhere in a noisy image; the mask marks the ellipse."""
    yy, xx = np.mgrid[:size, :size]
    cy, cx = rng.uniform(4, size - 4, 2)
    ry, rx = rng.uniform(2.0, 4.0, 2)
    mask = (((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 <= 1).astype("float32")
    image = 0.3 * rng.standard_normal((size, size)) + 0.9 * mask
    return image.astype("float32")[..., None], mask[..., None]


def make_split(rng, n):
    pairs = [draw_sample(rng, cfg.size) for _ in range(n)]
    return np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])


class SegmentationData(keras.utils.PyDataset):
    def __init__(self, images, masks, batch_size, augment=False, **kwargs):
        super().__init__(**kwargs)
        self.images, self.masks = images, masks
        self.batch_size, self.augment = batch_size, augment
        self.rng = np.random.default_rng(0)
        self.order = np.arange(len(images))
        self.on_epoch_end()

    def __len__(self):
        return len(self.images) // self.batch_size

    def on_epoch_end(self):
        if self.augment:
            self.rng.shuffle(self.order)

    def __getitem__(self, i):
        idx = self.order[i * self.batch_size:(i + 1) * self.batch_size]
        x, y = self.images[idx].copy(), self.masks[idx].copy()
        if self.augment:
            for k in range(len(x)):
                if self.rng.random() < 0.5:
                    x[k] = x[k][:, ::-1]
                if self.rng.random() < 0.5:
                    x[k] = x[k][::-1]
                x[k] += self.rng.normal(0, 0.05)
        return x, y


def conv(h, filters):
    h = layers.Conv2D(filters, 3, padding="same", use_bias=False)(h)
    h = layers.BatchNormalization()(h)
    return layers.ReLU()(h)


inputs = keras.Input((cfg.size, cfg.size, 1))
c1 = conv(inputs, 8)
c2 = conv(layers.MaxPooling2D()(c1), 16)
c2 = conv(c2, 16)
u1 = conv(layers.Concatenate()([layers.UpSampling2D()(c2), c1]), 8)
outputs = layers.Conv2D(1, 1, activation="sigmoid")(u1)
model = keras.Model(inputs, outputs)

rng = np.random.default_rng(cfg.seed)
train = SegmentationData(*make_split(rng, cfg.n_train), cfg.batch_size, augment=True)
val = SegmentationData(*make_split(rng, cfg.n_val), cfg.batch_size)

model.compile(
    optimizer=keras.optimizers.Adam(cfg.lr),
    loss="binary_crossentropy",
    metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], threshold=0.5, name="iou")],
)
model.fit(train, validation_data=val, epochs=cfg.epochs, verbose=2)
print("validation:", model.evaluate(val, verbose=0, return_dict=True))
