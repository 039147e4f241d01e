import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import math
import numpy as np
import keras
from keras import layers


class TableSequence(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size=32, **kw):
        super().__init__(**kw)
        self.x, self.y, self.batch_size = x.copy(), y.copy(), batch_size
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, i):
        s = slice(i * self.batch_size, (i + 1) * self.batch_size)
        return self.x[s], self.y[s]

    def on_epoch_end(self):
        self.rng.shuffle(self.x)
        self.rng.shuffle(self.y)


rng = np.random.default_rng(21)
X = rng.normal(size=(2500, 12)).astype("float32")
logit = 2.0 * X[:, 0] - 1.5 * X[:, 1] * X[:, 2] + X[:, 3]
y = (logit + rng.normal(0, 0.5, 2500) > 0).astype("float32")

keras.utils.set_random_seed(1)
train = TableSequence(X[:2000], y[:2000])
model = keras.Sequential([
    layers.Input((12,)),
    layers.Dense(48, activation="relu"),
    layers.Dense(24, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=15, validation_data=(X[2000:], y[2000:]), verbose=2)
