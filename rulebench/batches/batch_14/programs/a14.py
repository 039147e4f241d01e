"""Multi-label tagging of synthetic documents with a weighted loss and tuned thresholds."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import keras
from keras import layers, ops
from sklearn.metrics import f1_score


def make_data(n, n_feat, n_tags, seed):
    w = np.random.default_rng(99).normal(size=(n_feat, n_tags))
    bias = np.linspace(-1.0, -4.5, n_tags)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_feat)).astype("float32")
    z = 1.4 * x @ w / np.sqrt(n_feat) * 2 + bias
    y = (z + rng.logistic(size=z.shape) * 0.3 > 0).astype("float32")
    return x, y


@keras.saving.register_keras_serializable()
class WeightedBCE(keras.losses.Loss):
    """Binary cross-entropy on logits with one positive weight per tag."""

    def __init__(self, pos_weight, name="weighted_bce", **kw):
        super().__init__(name=name, **kw)
        self.pos_weight = [float(v) for v in pos_weight]

    def call(self, y_true, logits):
        y_true = ops.cast(y_true, logits.dtype)
        w = ops.convert_to_tensor(self.pos_weight, dtype=logits.dtype)
        softplus_neg = ops.softplus(-logits)
        per_tag = w * y_true * softplus_neg + (1 - y_true) * (logits + softplus_neg)
        return ops.mean(per_tag, axis=-1)

    def get_config(self):
        return {"pos_weight": self.pos_weight, "name": self.name}


class F1Callback(keras.callbacks.Callback):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def on_epoch_end(self, epoch, logs=None):
        z = self.model.predict(self.x, verbose=0)
        logs["val_macro_f1"] = f1_score(self.y, z > 0, average="macro", zero_division=0)


def best_thresholds(y, z):
    grid = np.linspace(-2, 3, 51)
    return np.array([grid[np.argmax([f1_score(y[:, k], z[:, k] > g, zero_division=0) for g in grid])]
                     for k in range(y.shape[1])])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tags", type=int, default=8)
    ap.add_argument("--features", type=int, default=30)
    ap.add_argument("--epochs", type=int, default=20)
    a = ap.parse_args()
    keras.utils.set_random_seed(0)
    x, y = make_data(3000, a.features, a.tags, 1)
    xv, yv = make_data(800, a.features, a.tags, 2)
    xt, yt = make_data(800, a.features, a.tags, 3)
    freq = y.mean(0)
    print("tag frequency", np.round(freq, 3))
    pos_weight = np.clip(np.sqrt((1 - freq) / freq), 1, 10)

    model = keras.Sequential([
        keras.Input((a.features,)),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(a.tags),
    ])
    model.compile(keras.optimizers.Adam(2e-3), WeightedBCE(pos_weight))
    stop = keras.callbacks.EarlyStopping("val_macro_f1", mode="max", patience=5, restore_best_weights=True)
    model.fit(x, y, epochs=a.epochs, batch_size=64, validation_data=(xv, yv), verbose=2,
              callbacks=[F1Callback(xv, yv), stop])
    thr = best_thresholds(yv, model.predict(xv, verbose=0))
    zt = model.predict(xt, verbose=0)
    print("test macro F1 at 0: %.3f" % f1_score(yt, zt > 0, average="macro", zero_division=0))
    print("test macro F1 tuned: %.3f" % f1_score(yt, zt > thr, average="macro", zero_division=0))


if __name__ == "__main__":
    main()
