import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(2)
SIZE = 24


def synth(n, rng):
    """Noisy pictures with a bright ellipse; the mask is the ellipse."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    imgs = np.zeros((n, SIZE, SIZE, 1), "float32")
    masks = np.zeros((n, SIZE, SIZE, 1), "float32")
    for i in range(n):
        cx, cy = rng.uniform(4, SIZE - 4, 2)
        a, b = rng.uniform(2.5, 5, 2)
        m = ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 <= 1
        masks[i, ..., 0] = m
        imgs[i, ..., 0] = 0.6 * m + rng.normal(0, 0.3, (SIZE, SIZE)) + 0.2 * np.sin(xx / 3.0)
    return imgs, masks


class SegmentationData(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size, augment=False, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs, self.augment = x, y, batch_size, augment
        self.rng = np.random.default_rng(0)
        self.order = self.rng.permutation(len(x))

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, i):
        idx = self.order[i * self.bs:(i + 1) * self.bs]
        x, y = self.x[idx].copy(), self.y[idx].copy()
        if self.augment:
            x, y = self.flip(x, y)
            x += self.rng.normal(0, 0.03, x.shape)
        return x, y

    def flip(self, x, y):
        for k in range(len(x)):
            axes = [ax for ax in (0, 1) if self.rng.random() < 0.4]
            x[k] = np.flip(x[k], axes)
        return x, y

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))


def unet():
    inp = keras.Input((SIZE, SIZE, 1))
    c1 = layers.Conv2D(8, 3, padding="same", activation="relu")(inp)
    p1 = layers.MaxPooling2D()(c1)
    c2 = layers.Conv2D(16, 3, padding="same", activation="relu")(p1)
    p2 = layers.MaxPooling2D()(c2)
    c3 = layers.Conv2D(16, 3, padding="same", activation="relu")(p2)
    u2 = layers.Concatenate()([layers.UpSampling2D()(c3), c2])
    c4 = layers.Conv2D(16, 3, padding="same", activation="relu")(u2)
    u1 = layers.Concatenate()([layers.UpSampling2D()(c4), c1])
    c5 = layers.Conv2D(8, 3, padding="same", activation="relu")(u1)
    return keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(c5))


rng = np.random.default_rng(2)
x_train, y_train = synth(640, rng)
x_val, y_val = synth(200, rng)
model = unet()
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(SegmentationData(x_train, y_train, 32, augment=True), validation_data=(x_val, y_val), epochs=10, verbose=2)

p = model.predict(x_val, verbose=0) > 0.5
t = y_val > 0.5
iou = (p & t).sum() / (p | t).sum()
print(f"validation IoU: {iou:.4f}")
