# Blob segmentation with a tiny U-Net. Keras 3 rewrite of my old course project.
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(7)
SIZE = 32


def make_sample(rng):
    img = rng.normal(0, 0.25, (SIZE, SIZE, 1)).astype("float32")
    mask = np.zeros((SIZE, SIZE, 1), "float32")
    yy, xx = np.mgrid[:SIZE, :SIZE]
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.integers(4, SIZE - 4, 2)
        r = rng.integers(3, 7)
        disk = ((yy - cy) ** 2 + (xx - cx) ** 2) < r * r
        mask[disk] = 1.0
        img[disk] += 0.7
    # bright squares are distractors (not part of the mask)
    cy, cx = rng.integers(2, SIZE - 6, 2)
    img[cy:cy + 4, cx:cx + 4] += 0.9
    return img, mask


rng = np.random.default_rng(0)
pairs = [make_sample(rng) for _ in range(700)]
X = np.stack([p[0] for p in pairs])
Y = np.stack([p[1] for p in pairs])
X_train, Y_train = X[:500], Y[:500]
X_val, Y_val = X[500:], Y[500:]


def random_flip(batch, rng):
    """Flip each element of a batch left-right at random."""
    out = batch.copy()
    for i in range(len(out)):
        if rng.random() < 0.5:
            out[i] = out[i, :, ::-1]
    return out


class SegSequence(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size=16, augment=True, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs, self.augment = x, y, batch_size, augment
        self.rng = np.random.default_rng(11)
        self.order = np.arange(len(x))

    def __len__(self):
        return len(self.x) // self.bs

    def on_epoch_end(self):
        self.rng.shuffle(self.order)

    def __getitem__(self, i):
        idx = self.order[i * self.bs:(i + 1) * self.bs]
        xb, yb = self.x[idx], self.y[idx]
        if self.augment:
            xb = random_flip(xb, self.rng)
            yb = random_flip(yb, self.rng)
        return xb, yb


def conv(x, f):
    x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation("relu")(x)


inp = keras.Input((SIZE, SIZE, 1))
c1 = conv(inp, 8)
c2 = conv(layers.MaxPooling2D()(c1), 16)
c3 = conv(layers.MaxPooling2D()(c2), 16)
u2 = conv(layers.Concatenate()([layers.UpSampling2D()(c3), c2]), 16)
u1 = conv(layers.Concatenate()([layers.UpSampling2D()(u2), c1]), 8)
out = layers.Conv2D(1, 1, activation="sigmoid")(u1)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(2e-3), loss="binary_crossentropy")

hist = model.fit(SegSequence(X_train, Y_train), validation_data=(X_val, Y_val), epochs=12, verbose=0)
for e, (a, b) in enumerate(zip(hist.history["loss"], hist.history["val_loss"])):
    print(f"epoch {e + 1:2d}  loss {a:.4f}  val_loss {b:.4f}")

p = model.predict(X_val, verbose=0) > 0.5
t = Y_val > 0.5
inter = np.logical_and(p, t).sum()
union = np.logical_or(p, t).sum()
print("val IoU: %.3f" % (inter / union))
