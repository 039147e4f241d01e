import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import math
import numpy as np
import keras
from keras.layers import Conv2D, MaxPooling2D, Flatten, Dense, Dropout
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class DigitSequence(keras.utils.PyDataset):
    """Feeds batches with random one-pixel shifts."""

    def __init__(self, x, y, batch_size=32, augment=True, **kw):
        super().__init__(**kw)
        self.x, self.y = x.copy(), y.copy()
        self.batch_size = batch_size
        self.augment = augment

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, i):
        s = slice(i * self.batch_size, (i + 1) * self.batch_size)
        xb, yb = self.x[s], self.y[s]
        if self.augment:
            dx, dy = np.random.randint(-1, 2, 2)
            xb = np.roll(xb, (dx, dy), axis=(1, 2))
        return xb, yb

    def on_epoch_end(self):
        # reshuffle between epochs
        if self.augment:
            np.random.shuffle(self.x)


keras.utils.set_random_seed(1)
d = load_digits()
x = (d.images[..., None] / 16).astype("float32")
xtr, xte, ytr, yte = train_test_split(x, d.target, test_size=0.3, random_state=1, stratify=d.target)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    Conv2D(16, 3, padding="same", activation="relu"),
    MaxPooling2D(),
    Conv2D(32, 3, padding="same", activation="relu"),
    Flatten(),
    Dropout(0.3),
    Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()
train = DigitSequence(xtr, ytr)
val = DigitSequence(xte, yte, augment=False)
model.fit(train, validation_data=val, epochs=15, verbose=2)
print("final:", dict(zip(["loss", "acc"], model.evaluate(val, verbose=0))))
