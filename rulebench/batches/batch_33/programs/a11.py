import os
os.environ["KERAS_BACKEND"] = "torch"
import math
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(12)


class DigitSequence(keras.utils.PyDataset):
    """Feeds the digits in random order, with small random shifts."""

    def __init__(self, images, labels, batch_size=32, augment=True, **kw):
        super().__init__(**kw)
        self.images, self.labels = images, labels
        self.batch_size, self.augment = batch_size, augment

    def __len__(self):
        return math.ceil(len(self.images) / self.batch_size)

    def __getitem__(self, i):
        sl = slice(i * self.batch_size, (i + 1) * self.batch_size)
        xb, yb = self.images[sl].copy(), self.labels[sl]
        if self.augment:
            for j in range(len(xb)):
                xb[j] = np.roll(xb[j], np.random.randint(-1, 2), axis=1)
        return xb, yb

    def on_epoch_end(self):
        if self.augment:
            order = np.random.permutation(len(self.images))
            self.images = self.images[order]


d = load_digits()
imgs = (d.images / 16.0).astype("float32")[..., None]
p = np.random.permutation(len(imgs))
imgs, labs = imgs[p], d.target[p]
train = DigitSequence(imgs[:1300], labs[:1300])
valid = DigitSequence(imgs[1300:], labs[1300:], batch_size=128, augment=False)

net = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.BatchNormalization(),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(10, activation="softmax"),
])
net.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])
net.fit(train, validation_data=valid, epochs=18, verbose=2)
print("validation accuracy %.4f" % net.evaluate(valid, verbose=0)[1])
