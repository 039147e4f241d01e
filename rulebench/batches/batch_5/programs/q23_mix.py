import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(19)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = keras.utils.to_categorical(d.target, 10)
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.25, random_state=19)


class MixupBatches(keras.utils.PyDataset):
    def __init__(self, x, y, batch, alpha=0.4, **kw):
        super().__init__(**kw)
        self.x, self.y, self.batch, self.alpha = x, y, batch, alpha
        self.rng = np.random.default_rng(0)
        self.on_epoch_end()

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))

    def __len__(self):
        return len(self.x) // self.batch

    def __getitem__(self, i):
        a = self.order[i * self.batch:(i + 1) * self.batch]
        b = self.rng.permutation(a)
        lam = self.rng.beta(self.alpha, self.alpha)
        return lam * self.x[a] + (1 - lam) * self.x[b], lam * self.y[a] + (1 - lam) * self.y[b]


train = MixupBatches(x_tr, y_tr, 64)
steps = len(train)
lr = keras.optimizers.schedules.CosineDecayRestarts(0.05, first_decay_steps=6 * steps, t_mul=2.0, m_mul=0.7, alpha=0.005)
model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.BatchNormalization(),
    layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
    layers.BatchNormalization(),
    layers.Flatten(),
    layers.Dense(10),
])
model.compile(keras.optimizers.SGD(lr, momentum=0.9, nesterov=True),
              keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), metrics=["accuracy"])
model.fit(train, epochs=18, validation_data=(x_te, y_te), verbose=2)
print("test accuracy", model.evaluate(x_te, y_te, verbose=0)[1])
