import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 14
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

X, y = load_digits(return_X_y=True)
X = (X / 16).astype("float32").reshape(-1, 8, 8, 1)
Xtr, Xva, ytr, yva = train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED)
Y = np.eye(10, dtype="float32")


class MixedDigits(keras.utils.PyDataset):
    """Every batch is a blend of two shuffled copies of itself."""

    def __init__(self, x, y, bs=48, alpha=1.0, **kw):
        super().__init__(**kw)
        self.x, self.y, self.bs, self.alpha = x, y, bs, alpha
        self.on_epoch_end()

    def __len__(self):
        return len(self.x) // self.bs

    def on_epoch_end(self):
        self.order = rng.permutation(len(self.x))

    def __getitem__(self, i):
        a = self.order[i * self.bs:(i + 1) * self.bs]
        b = rng.permutation(a)
        lam = rng.beta(self.alpha, self.alpha, size=(len(a), 1)).astype("float32")
        x = lam[:, :, None, None] * self.x[a] + (1 - lam[:, :, None, None]) * self.x[b]
        y = lam * Y[self.y[a]] + (1 - lam) * Y[self.y[b]]
        return x, y


model = keras.Sequential([
    keras.Input((8, 8, 1)),
    keras.layers.Conv2D(24, 3, activation="relu", padding="same"),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(48, 3, activation="relu", padding="same"),
    keras.layers.Flatten(),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(10, activation="softmax"),
])
model.compile("adam", keras.losses.CategoricalCrossentropy(), metrics=["accuracy"])
model.optimizer.learning_rate = 2e-3
model.fit(MixedDigits(Xtr, ytr), validation_data=(Xva, Y[yva]), epochs=25, verbose=2)
print("held-out accuracy: %.4f" % model.evaluate(Xva, Y[yva], verbose=0)[1])
