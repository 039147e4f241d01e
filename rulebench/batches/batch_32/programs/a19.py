import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 19
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

d = load_digits()
X_tr, X_te, y_tr, y_te = train_test_split((d.data / 16).astype("float32"), d.target, test_size=0.3,
                                          random_state=SEED, stratify=d.target)
Y_tr, Y_te = keras.utils.to_categorical(y_tr, 10), keras.utils.to_categorical(y_te, 10)


class MixUp(keras.utils.PyDataset):
    def __init__(self, x, y, bs=64, alpha=1.0):
        super().__init__()
        self.x, self.y, self.bs, self.alpha = x, y, bs, alpha
        self.order = rng.permutation(len(x))

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, i):
        a = self.order[i * self.bs:(i + 1) * self.bs]
        b = rng.permutation(a)
        lam = rng.beta(self.alpha, self.alpha, (len(a), 1)).astype("float32")
        return lam * self.x[a] + (1 - lam) * self.x[b], lam * self.y[a] + (1 - lam) * self.y[b]

    def on_epoch_end(self):
        self.order = rng.permutation(len(self.x))


model = keras.Sequential([
    layers.Input((64,)),
    layers.Dense(512, activation="relu"), layers.Dropout(0.5),
    layers.Dense(512, activation="relu"), layers.Dropout(0.5),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3),
              loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1), metrics=["accuracy"])
model.fit(MixUp(X_tr, Y_tr), epochs=40, validation_data=(X_te, Y_te), verbose=2)
print("test accuracy: %.4f" % model.evaluate(X_te, Y_te, verbose=0)[1])
