import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(5)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32").reshape(-1, 8, 8, 1)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=5)
Y_tr = keras.utils.to_categorical(y_tr, 10).astype("float32")
Y_te = keras.utils.to_categorical(y_te, 10).astype("float32")


class MixupBatches(keras.utils.PyDataset):
    """mixup (Zhang et al.), alpha=0.8; one lambda per pair"""

    def __init__(self, x, y, bs=48, alpha=0.8, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs, self.alpha = x, y, bs, alpha
        self.rng = np.random.default_rng(5)
        self.order = self.rng.permutation(len(x))

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, i):
        idx = self.order[i * self.bs:(i + 1) * self.bs]
        jdx = self.rng.permutation(idx)
        lam = self.rng.beta(self.alpha, self.alpha, size=len(idx)).astype("float32")
        lx, ly = lam[:, None, None, None], lam[:, None]
        xb = lx * self.x[idx] + (1 - lx) * self.x[jdx]
        yb = ly * self.y[idx] + (1 - ly) * self.y[jdx]
        return xb, yb

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))


inp = keras.Input((8, 8, 1))
h = layers.Conv2D(16, 3, padding="same", activation="relu")(inp)
h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
h = layers.MaxPooling2D()(h)
h = layers.Flatten()(h)
h = layers.Dropout(0.3)(h)
h = layers.Dense(64, activation="relu")(h)
out = layers.Dense(10)(h)
net = keras.Model(inp, out)

net.compile(keras.optimizers.AdamW(1e-3, weight_decay=1e-3),
            loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
            metrics=["accuracy"])
hist = net.fit(MixupBatches(X_tr, Y_tr), validation_data=(X_te, Y_te), epochs=30, verbose=0)
for e in range(0, 30, 5):
    print(e, {k: round(v[e], 3) for k, v in hist.history.items()})
print("test accuracy", net.evaluate(X_te, Y_te, verbose=0)[1])
