import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.metrics import roc_auc_score


class WideDeep(keras.Model):
    """wide part (crossed ids, linear) with FTRL, deep part with Adam, one common loss"""

    def __init__(self, n_cross, n_cat, d_num):
        super().__init__()
        self.wide = layers.Embedding(n_cross, 1, embeddings_initializer="zeros")
        self.emb = layers.Embedding(n_cat, 8)
        self.deep = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(16, activation="relu"), layers.Dense(1)])
        self.loss_m = keras.metrics.Mean(name="loss")
        self.auc = keras.metrics.AUC(name="auc", from_logits=True)

    @property
    def metrics(self):
        return [self.loss_m, self.auc]

    def call(self, inputs, training=False):
        e = tf.reshape(self.emb(inputs["cat"]), (-1, 16))
        return self.wide(inputs["cross"])[:, 0] + self.deep(tf.concat([e, inputs["num"]], 1))

    def compile(self, wide_opt, deep_opt):
        super().compile()
        self.wide_opt, self.deep_opt = wide_opt, deep_opt

    def _record(self, y, logit, loss):
        self.loss_m.update_state(loss)
        self.auc.update_state(y, logit)
        return {m.name: m.result() for m in self.metrics}

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            logit = self(x, training=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logit))
        w = self.wide.trainable_variables
        d = self.emb.trainable_variables + self.deep.trainable_variables
        g = tape.gradient(loss, w + d)
        self.wide_opt.apply_gradients(zip(g[:len(w)], w))
        self.deep_opt.apply_gradients(zip(g[len(w):], d))
        return self._record(y, logit, loss)

    def test_step(self, data):
        x, y = data
        logit = self(x, training=False)
        return self._record(y, logit, tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logit)))


def clicks(n, rng):
    w = np.random.default_rng(50)
    eff = w.normal(0, 1.2, (20, 20))
    beta = w.normal(0, 0.7, 4)
    a, b = rng.integers(0, 20, n), rng.integers(0, 20, n)
    num = rng.normal(size=(n, 4)).astype("float32")
    z = eff[a, b] + num @ beta - 1 + 0.5 * num[:, 0] * num[:, 1]
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-z))).astype("float32")[:, None]
    x = {"cat": np.stack([a, 20 + b], 1).astype("int32"), "cross": (a * 20 + b)[:, None].astype("int32"), "num": num}
    return x, y, z


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, y, _ = clicks(12000, rng)
    xv, yv, zv = clicks(3000, rng)
    m = WideDeep(400, 40, 4)
    m.compile(keras.optimizers.Ftrl(0.3), keras.optimizers.Adam(1e-3))
    m.fit(x, y, batch_size=64, epochs=args.epochs, validation_data=(xv, yv), verbose=2)
    p = np.concatenate([np.asarray(m({k: v[i:i + 1000] for k, v in xv.items()})) for i in range(0, 3000, 1000)])
    print("AUC", roc_auc_score(yv, p), "with the true scores", roc_auc_score(yv, zv))


if __name__ == "__main__":
    main()
