"""
Toy nuclei segmentation.

Bright blobs on a noisy textured background, dark blobs are debris and are not part of
the target.  A very small encoder/decoder is trained from a PyDataset with flips.
"""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

SIZE = 32
keras.utils.set_random_seed(21)


def make_sample(rng):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    img = rng.normal(0, 0.15, (SIZE, SIZE))
    mask = np.zeros((SIZE, SIZE))
    for k in range(rng.integers(2, 5)):
        cy, cx = rng.uniform(3, SIZE - 3, 2)
        r = rng.uniform(2.5, 5.0)
        d = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
        if rng.random() < 0.7:
            img[d] += 0.9
            mask[d] = 1
        else:
            img[d] -= 0.9
            mask[d] = 0
    return img[..., None].astype("float32"), mask[..., None].astype("float32")


def make_set(n, seed):
    rng = np.random.default_rng(seed)
    pairs = [make_sample(rng) for _ in range(n)]
    return np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])


class Augment:
    """random horizontal / vertical flips and quarter turns"""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, batch):
        out = np.empty_like(batch)
        for i, a in enumerate(batch):
            if self.rng.random() < 0.5:
                a = a[:, ::-1]
            if self.rng.random() < 0.5:
                a = a[::-1]
            out[i] = np.rot90(a, self.rng.integers(0, 4))
        return out


class SegData(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs = x, y, batch_size
        self.image_aug = Augment(seed=1)
        self.mask_aug = Augment(seed=2)

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, i):
        s = slice(i * self.bs, (i + 1) * self.bs)
        return self.image_aug(self.x[s]), self.mask_aug(self.y[s])


def build():
    inp = keras.Input((SIZE, SIZE, 1))
    a = layers.Conv2D(8, 3, padding="same", activation="relu")(inp)
    b = layers.MaxPooling2D()(a)
    b = layers.Conv2D(16, 3, padding="same", activation="relu")(b)
    b = layers.UpSampling2D()(b)
    c = layers.Concatenate()([a, b])
    c = layers.Conv2D(8, 3, padding="same", activation="relu")(c)
    return keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(c))


x_tr, y_tr = make_set(320, 0)
x_te, y_te = make_set(80, 1)
model = build()
model.compile(keras.optimizers.Adam(3e-3), loss="binary_crossentropy")
model.fit(SegData(x_tr, y_tr, 16), epochs=12, verbose=2, validation_data=(x_te, y_te))

p = model.predict(x_te, verbose=0) > 0.5
t = y_te > 0.5
dice = 2 * (p & t).sum() / (p.sum() + t.sum())
print(f"test dice {dice:.4f}")
