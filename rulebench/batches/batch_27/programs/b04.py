"""Segmenting cells on synthetic microscope tiles with a small U-Net (Keras 3, jax)."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(7)
SIZE = 32


def make_tile(rng):
    img = rng.normal(0.0, 0.25, (SIZE, SIZE, 1)).astype("float32")
    mask = np.zeros((SIZE, SIZE, 1), "float32")
    yy, xx = np.mgrid[:SIZE, :SIZE]
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.integers(4, SIZE - 4, 2)
        a, b = rng.uniform(2.5, 6, 2)
        inside = ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
        mask[inside] = 1.0
        img[inside] += rng.uniform(0.5, 0.9)
    return img, mask


def make_set(n, seed):
    rng = np.random.default_rng(seed)
    pairs = [make_tile(rng) for _ in range(n)]
    return np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])


def random_flip(batch):
    batch = batch.copy()
    for i in range(len(batch)):
        if np.random.rand() < 0.5:
            batch[i] = batch[i, :, ::-1]
        if np.random.rand() < 0.5:
            batch[i] = batch[i, ::-1]
    return batch


class Tiles(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size=16, augment=False):
        super().__init__()
        self.x, self.y, self.bs, self.augment = x, y, batch_size, augment
        self.order = np.random.permutation(len(x))

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, i):
        idx = self.order[i * self.bs:(i + 1) * self.bs]
        x, y = self.x[idx], self.y[idx]
        if self.augment:
            x = random_flip(x)
            y = random_flip(y)
        return x, y

    def on_epoch_end(self):
        np.random.shuffle(self.order)


def block(x, f):
    x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(f, 3, padding="same", activation="relu")(x)


inp = keras.Input((SIZE, SIZE, 1))
c1 = block(inp, 8)
c2 = block(layers.MaxPooling2D()(c1), 16)
c3 = block(layers.MaxPooling2D()(c2), 24)
u2 = block(layers.concatenate([layers.UpSampling2D()(c3), c2]), 16)
u1 = block(layers.concatenate([layers.UpSampling2D()(u2), c1]), 8)
out = layers.Conv2D(1, 1, activation="sigmoid")(u1)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(2e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], threshold=0.5, name="iou")])

x_tr, y_tr = make_set(640, 1)
x_va, y_va = make_set(128, 2)
model.fit(Tiles(x_tr, y_tr, augment=True), validation_data=Tiles(x_va, y_va), epochs=10, verbose=2)
pred = model.predict(x_va, verbose=0) > 0.5
inter = np.logical_and(pred, y_va > 0.5).sum()
union = np.logical_or(pred, y_va > 0.5).sum()
print("validation IoU of the cell class: %.3f" % (inter / union))
