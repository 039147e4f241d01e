"""Self-normalising network, mixup, breast-cancer data (torch backend)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 1234
keras.utils.set_random_seed(SEED)

data = load_breast_cancer()
x_tr, x_te, y_tr, y_te = train_test_split(
    data.data, data.target, test_size=0.3, random_state=0, stratify=data.target)
scaler = StandardScaler().fit(x_tr)
x_tr = scaler.transform(x_tr).astype("float32")
x_te = scaler.transform(x_te).astype("float32")


class Mixup(keras.utils.PyDataset):
    """Batches of convex combinations; lambda is drawn anew for every batch."""

    def __init__(self, x, y, bs, alpha, seed):
        super().__init__()
        self.x, self.y, self.bs, self.alpha = x, y.astype("float32"), bs, alpha
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.x) // self.bs

    def __getitem__(self, _):
        i = self.rng.choice(len(self.x), self.bs, replace=False)
        j = self.rng.permutation(i)
        lam = self.rng.beta(self.alpha, self.alpha)
        return lam * self.x[i] + (1 - lam) * self.x[j], (lam * self.y[i] + (1 - lam) * self.y[j])[:, None]


def block(x, units):
    x = layers.Dense(units, kernel_initializer="lecun_normal", activation="selu")(x)
    return layers.AlphaDropout(0.25)(x)


inp = keras.Input((x_tr.shape[1],))
h = block(block(block(inp, 64), 64), 32)
out = layers.Dense(1, activation="sigmoid")(h)
net = keras.Model(inp, out)
net.compile(keras.optimizers.Nadam(1e-3), loss="binary_crossentropy")

hist = net.fit(Mixup(x_tr, y_tr, 32, 0.6, SEED), validation_data=(x_te, y_te[:, None]), epochs=50, verbose=0)
for e in range(4, 50, 5):
    print(e + 1, "train %.3f" % hist.history["loss"][e], "held-out %.3f" % hist.history["val_loss"][e])
p = net.predict(x_te, verbose=0)[:, 0] > 0.5
print("held-out accuracy", float((p == y_te).mean()))
