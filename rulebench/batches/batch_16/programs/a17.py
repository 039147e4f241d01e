import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

MARGIN = 0.3


class TripletData(keras.utils.PyDataset):
    """Yields (anchor, positive, negative) stacked on axis 1."""

    def __init__(self, x, y, batch_size=64, steps=30, seed=0, **kw):
        super().__init__(**kw)
        self.x, self.y = x, y
        self.batch_size, self.steps = batch_size, steps
        self.rng = np.random.default_rng(seed)
        self.by_class = {c: np.where(y == c)[0] for c in np.unique(y)}

    def __len__(self):
        return self.steps

    def __getitem__(self, i):
        classes = list(self.by_class)
        a, p, n = [], [], []
        for _ in range(self.batch_size):
            c, d = self.rng.choice(classes, 2, replace=False)
            ia, ip = self.rng.choice(self.by_class[c], 2, replace=False)
            a.append(ia)
            p.append(ip)
            n.append(self.rng.choice(self.by_class[d]))
        triplets = np.stack([self.x[a], self.x[p], self.x[n]], axis=1)
        return triplets, np.zeros((self.batch_size, 1), "float32")


def triplet_loss(_, emb):
    anchor, negative, positive = emb[:, 0], emb[:, 1], emb[:, 2]
    d_pos = ops.sum(ops.square(anchor - positive), axis=-1)
    d_neg = ops.sum(ops.square(anchor - negative), axis=-1)
    return ops.mean(ops.maximum(d_pos - d_neg + MARGIN, 0.0))


def build_encoder(dim=16):
    inp = keras.Input((64,))
    h = layers.Dense(64, activation="relu")(inp)
    h = layers.Dense(dim)(h)
    out = layers.UnitNormalization()(h)
    return keras.Model(inp, out)


def main():
    keras.utils.set_random_seed(1)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype("float32")
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, random_state=1, stratify=y)

    encoder = build_encoder()
    inp = keras.Input((3, 64))
    emb = layers.TimeDistributed(encoder)(inp)
    model = keras.Model(inp, emb)
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=triplet_loss)
    model.fit(TripletData(x_train, y_train), epochs=10, verbose=2)

    knn = KNeighborsClassifier(5).fit(encoder.predict(x_train, verbose=0), y_train)
    print("kNN accuracy in embedding space:", knn.score(encoder.predict(x_test, verbose=0), y_test))
    base = KNeighborsClassifier(5).fit(x_train, y_train)
    print("kNN accuracy on pixels:", base.score(x_test, y_test))


if __name__ == "__main__":
    main()
