"""Self-supervised contrastive pretraining with a subclassed Keras model, then a linear probe (torch backend)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

TEMPERATURE, EPOCHS, BATCH = 0.2, 25, 128


def nt_xent(z, temperature):
    """z holds 2n rows, row i and row i+n are the two views of one image."""
    z = z / ops.sqrt(ops.sum(ops.square(z), axis=1, keepdims=True) + 1e-9)
    n2 = z.shape[0]
    sim = ops.matmul(z, ops.transpose(z)) / temperature - 1e9 * ops.eye(n2)
    target = np.r_[np.arange(n2 // 2) + n2 // 2, np.arange(n2 // 2)]
    return ops.mean(keras.losses.sparse_categorical_crossentropy(ops.convert_to_tensor(target), sim, from_logits=True))


class Views(keras.utils.PyDataset):
    def __init__(self, x, bs, seed=0, **kw):
        super().__init__(**kw)
        self.x, self.bs, self.rng = x, bs, np.random.default_rng(seed)

    def __len__(self):
        return len(self.x) // self.bs

    def _view(self, x):
        dx, dy = self.rng.integers(-1, 2, (2, len(x)))
        x = np.stack([np.roll(im, (a, b), (0, 1)) for im, a, b in zip(x, dx, dy)])
        keep = self.rng.random(x.shape) > 0.05
        return (x * keep * self.rng.uniform(0.8, 1.2, (len(x), 1, 1, 1)) + self.rng.normal(0, 0.05, x.shape)).astype("float32")

    def __getitem__(self, i):
        xb = self.x[self.rng.choice(len(self.x), self.bs, replace=False)]
        return np.concatenate([self._view(xb), self._view(xb)]), np.zeros(2 * self.bs, "float32")


class SimCLR(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.encoder = keras.Sequential([
            layers.Conv2D(16, 3, padding="same", activation="relu"), layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"), layers.Flatten(), layers.Dense(64, activation="relu")])
        self.projector = keras.Sequential([layers.Dense(48, activation="relu"), layers.Dense(24)])

    def call(self, x):
        return self.projector(self.encoder(x))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return nt_xent(y_pred, TEMPERATURE)


def features(model, x):
    return keras.ops.convert_to_numpy(ops.stop_gradient(model.encoder(x)))


def main():
    keras.utils.set_random_seed(0)
    d = load_digits()
    p = np.random.default_rng(0).permutation(len(d.target))
    x, y = (d.images[p] / 16.0)[..., None].astype("float32"), d.target[p]
    xtr, xte = x[:1400], x[1400:]
    model = SimCLR()
    model(xtr[:2])
    probe = lambda: LogisticRegression(max_iter=500).fit(features(model, xtr[:60]), y[:60]).score(features(model, xte), y[1400:])
    print(f"linear probe with 60 labels, untrained encoder {probe():.4f}")
    model.compile(optimizer=keras.optimizers.Adam(2e-3))
    model.fit(Views(xtr, BATCH), epochs=EPOCHS, verbose=2)
    print(f"chance loss {np.log(2 * BATCH - 1):.3f}")
    print(f"linear probe with 60 labels, trained encoder {probe():.4f}")


if __name__ == "__main__":
    main()
