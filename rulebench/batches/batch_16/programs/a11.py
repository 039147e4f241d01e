import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(17)
d = load_digits()
x = (d.images[..., None] / 16.0).astype("float32")
y = keras.utils.to_categorical(d.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=17)


class Mixup(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size=64, alpha=0.4, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs, self.alpha = x, y, batch_size, alpha
        self.rng = np.random.default_rng(17)
        self.order = self.rng.permutation(len(x))

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, i):
        a = self.order[i * self.bs:(i + 1) * self.bs]
        b = self.rng.permutation(a)
        lam = self.rng.beta(self.alpha, self.alpha, size=self.bs).astype("float32")
        xl = lam[:, None, None, None]
        return xl * self.x[a] + (1 - xl) * self.x[b], lam[:, None] * self.y[a] + (1 - lam[:, None]) * self.y[b]

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))


model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(24, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(48, 3, activation="relu", padding="same"),
    layers.Flatten(),
    layers.Dropout(0.4),
    layers.Dense(10, activation="softmax"),
])
model.compile(keras.optimizers.Adam(2e-3), keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
              metrics=["accuracy"])
model.fit(Mixup(x_train, y_train), validation_data=(x_test, y_test), epochs=15, verbose=2)
print("test", model.evaluate(x_test, y_test, verbose=0))
